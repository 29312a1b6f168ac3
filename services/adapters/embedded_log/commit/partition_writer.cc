#include "services/adapters/embedded_log/commit/partition_writer.h"

#include <algorithm>
#include <utility>

#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {
constexpr size_t kFlushBytes = size_t{1} << 20;
}  // namespace

PartitionWriter::PartitionWriter(const SegmentPolicy* policy, CommittedState::Partition* partition,
                                 std::string dir, const PartitionContent& content)
    : policy_(policy),
      partition_(partition),
      dir_(std::move(dir)),
      next_offset_(content.end_offset),
      last_time_ns_(content.last_time_ns) {
  if (!content.segments.empty() && content.segments.back().writable) {
    segment_ = content.segments.back().segment;
    bytes_ = content.segments.back().bytes;
  }
}

PartitionWriter::Mark PartitionWriter::mark() const {
  return {segment_,       bytes_, first_time_ns_, next_offset_, last_time_ns_, new_segments_.size(),
          appends_.size()};
}

void PartitionWriter::Rollback(const Mark& mark) {
  for (size_t i = mark.new_segments; i < new_segments_.size(); ++i) {
    // If the removal fails, the file is removed at the next recovery or before a segment with the
    // same name is created.
    const Status removed = files::Remove(new_segments_[i].segment->path());
    if (!removed.ok()) PITWALL_LOG(kWarning, "log", ToStd(removed.message()));
  }
  new_segments_.resize(mark.new_segments);
  appends_.resize(mark.appends);
  if (segment_ != mark.segment) {
    file_ = nullptr;
    dirty_tail_ = false;  // the tail was truncated before the new segment started
  }
  segment_ = mark.segment;
  bytes_ = mark.bytes;
  first_time_ns_ = mark.first_time_ns;
  next_offset_ = mark.next_offset;
  last_time_ns_ = mark.last_time_ns;
  buffer_.clear();
  if (file_ == nullptr) return;
  // Readers ignore bytes after the committed end. Truncation only frees the space.
  dirty_tail_ = !file_->Truncate(bytes_).ok();
}

Status PartitionWriter::OpenForWriting() {
  if (file_ != nullptr) return OkStatus();
  ASSIGN_OR_RETURN(file_,
                   files::File::Open(segment_->path(), files::File::Mode::kWrite, policy_->faults));
  if (first_time_ns_ < 0) {
    SegmentReader reader(file_, kSegmentHeaderBytes, bytes_);
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kBatch) first_time_ns_ = reader.header().first_time_ns;
  }
  return OkStatus();
}

Status PartitionWriter::Roll(DirtyFiles* dirty, Frame* frame) {
  ASSIGN_OR_RETURN(std::shared_ptr<files::Directory> directory, files::Directory::Open(dir_));
  if (segment_ != nullptr) {
    // A closed segment must end with its last record because recovery and readers rely on the file
    // size.
    if (dirty_tail_) {
      RETURN_IF_ERROR(file_->Truncate(bytes_));
      dirty_tail_ = false;
    }
    if (new_segments_.empty()) {
      sealed_bytes_ = bytes_;
      sealed_time_ns_ = last_time_ns_;
    } else {
      new_segments_.back().bytes = bytes_;
      new_segments_.back().last_time_ns = last_time_ns_;
    }
    frame->segments.push_back(
        {partition_->key(), segment_->name().base_offset, next_offset_, /*run=*/0, bytes_});
  }
  SegmentName name;
  name.base_offset = next_offset_;
  auto segment = std::make_shared<Segment>(dir_, name);
  RETURN_IF_ERROR(files::Remove(segment->path()));
  ASSIGN_OR_RETURN(std::shared_ptr<files::File> file,
                   files::File::Open(segment->path(), files::File::Mode::kCreate, policy_->faults));
  if (Status written = file->WriteAt(0, SegmentHeader(next_offset_)); !written.ok()) {
    (void)files::Remove(segment->path());
    return written;
  }
  dirty->directories.emplace(partition_, std::move(directory));
  SegmentInfo info;
  info.segment = segment;
  info.bytes = kSegmentHeaderBytes;
  info.writable = true;
  new_segments_.push_back(std::move(info));
  segment_ = std::move(segment);
  file_ = std::move(file);
  bytes_ = kSegmentHeaderBytes;
  first_time_ns_ = -1;
  return OkStatus();
}

Status PartitionWriter::Flush() {
  if (buffer_.empty()) return OkStatus();
  dirty_tail_ = true;
  RETURN_IF_ERROR(file_->WriteAt(bytes_, buffer_));
  bytes_ += static_cast<int64_t>(buffer_.size());
  bytes_written_ += static_cast<int64_t>(buffer_.size());
  dirty_tail_ = false;
  if (buffer_.capacity() > 4 * kFlushBytes) buffer_ = std::string();
  buffer_.clear();
  return OkStatus();
}

Status PartitionWriter::Write(const std::vector<const OutgoingRecord*>& records, int64_t now_ns,
                              BatchBuilder* builder, DirtyFiles* dirty, Frame* frame) {
  RETURN_IF_ERROR(suspended_);
  const int64_t time_ns = std::max(now_ns, last_time_ns_);
  if (segment_ != nullptr) RETURN_IF_ERROR(OpenForWriting());
  const bool old = first_time_ns_ >= 0 && time_ns - first_time_ns_ >= policy_->segment_ns;
  if (segment_ == nullptr || bytes_ >= policy_->segment_bytes || old)
    RETURN_IF_ERROR(Roll(dirty, frame));
  // If the old tail could not be truncated, this write overwrites it, and only bytes beyond the new
  // end remain.
  const bool old_tail = dirty_tail_;
  if (first_time_ns_ < 0) first_time_ns_ = time_ns;
  dirty->Add(file_, partition_, bytes_);
  PartitionEnd end;
  end.key = partition_->key();
  end.segment_base = segment_->name().base_offset;
  end.from_bytes = bytes_;
  end.from_offset = next_offset_;

  buffer_.clear();
  builder->Clear();
  int64_t batch_base = next_offset_;
  const auto finish = [&]() -> Status {
    const int64_t from = bytes_ + static_cast<int64_t>(buffer_.size());
    builder->Finish(frame->sequence, policy_->compress, &buffer_);
    appends_.push_back(
        {segment_, from, bytes_ + static_cast<int64_t>(buffer_.size()), batch_base, time_ns});
    batch_base = next_offset_;
    return buffer_.size() >= kFlushBytes ? Flush() : OkStatus();
  };
  for (const OutgoingRecord* record : records) {
    if (builder->WouldOverflow(RecordBytes(*record), next_offset_)) RETURN_IF_ERROR(finish());
    builder->Add(next_offset_, time_ns, *record);
    ++next_offset_;
    if (builder->full()) RETURN_IF_ERROR(finish());
  }
  if (!builder->empty()) RETURN_IF_ERROR(finish());
  RETURN_IF_ERROR(Flush());
  dirty_tail_ = old_tail;
  last_time_ns_ = time_ns;
  end.to_bytes = bytes_;
  end.to_offset = next_offset_;
  end.last_time_ns = time_ns;
  frame->ends.push_back(end);
  return OkStatus();
}

PartitionUpdate PartitionWriter::Publish() {
  PartitionUpdate update;
  update.partition = partition_;
  update.end_offset = next_offset_;
  update.last_time_ns = last_time_ns_;
  update.last_segment_bytes = bytes_;
  update.sealed_bytes = sealed_bytes_;
  update.sealed_time_ns = sealed_time_ns_;
  update.new_segments = std::move(new_segments_);
  new_segments_.clear();
  for (const Append& append : appends_) {
    append.segment->NoteAppend(append.from, append.to, append.base_offset, append.last_time_ns);
  }
  appends_.clear();
  return update;
}

}  // namespace pitwall::log
