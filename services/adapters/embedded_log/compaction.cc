#include "services/adapters/embedded_log/compaction.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr size_t kFlushBytes = size_t{1} << 20;
constexpr size_t kMapEntryBytes = 64;  // overhead per key

using NewestOffsets = StringMap<int64_t>;
using Visit = std::function<Status(const RecordView&, uint64_t sequence)>;

Status ForEachRecord(const SegmentInfo& info, DamageLog* damage, const Visit& visit) {
  ASSIGN_OR_RETURN(std::shared_ptr<const files::File> file, info.segment->Open());
  SegmentReader reader(std::move(file), kSegmentHeaderBytes, info.bytes);
  BatchDecoder decoder;
  for (;;) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) return OkStatus();
    Status bad = OkStatus();
    int64_t at = reader.at();
    if (step == SegmentReader::Step::kDamage) {
      at = reader.damage().from;
      bad = DataLoss(reader.damage().reason);
    } else {
      ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
      bad = decoder.Open(reader.header(), payload);
      while (bad.ok() && decoder.more()) {
        RecordView record;
        bad = decoder.Next(&record);
        if (bad.ok()) RETURN_IF_ERROR(visit(record, reader.header().sequence));
      }
    }
    // Skipping compaction would not save the records, so the damage is only reported.
    if (!bad.ok()) {
      damage->Report({.kind = DamageKind::kRecords,
                      .place = Cat(info.segment->path(), " at byte ", at),
                      .message = std::string(ToStd(bad.message())),
                      .path = info.segment->path()});
    }
  }
}

// Compaction output file. It has a temporary name until Finish renames it.
class Output {
 public:
  Output(const CompactionPolicy& policy, const std::string& dir, int64_t base_offset)
      : policy_(policy),
        temporary_(Cat(dir, "/compaction.tmp")),
        buffer_(SegmentHeader(base_offset)) {}
  ~Output() {
    if (!finished_) (void)files::Remove(temporary_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Status Open() {
    RETURN_IF_ERROR(files::Remove(temporary_));
    ASSIGN_OR_RETURN(file_,
                     files::File::Open(temporary_, files::File::Mode::kCreate, policy_.faults));
    return OkStatus();
  }
  Status Add(const RecordView& record, uint64_t sequence) {
    // Records from two commits never share a batch. A job writes its two snapshots in two commits,
    // and one damaged batch must not destroy both.
    if (!builder_.empty() && sequence != sequence_) RETURN_IF_ERROR(EndBatch());
    const size_t size = record.key.size() + record.value.size() + record.headers.size();
    if (builder_.WouldOverflow(size, record.offset)) RETURN_IF_ERROR(EndBatch());
    sequence_ = sequence;
    builder_.Add(record);
    last_time_ns_ = std::max(last_time_ns_, record.append_time_ns);
    return builder_.full() ? EndBatch() : OkStatus();
  }
  Status Finish(const std::string& path) {
    if (!builder_.empty()) RETURN_IF_ERROR(EndBatch());
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(file_->Sync());
    RETURN_IF_ERROR(files::Rename(temporary_, path));
    finished_ = true;
    return OkStatus();
  }
  int64_t bytes() const { return bytes_ + static_cast<int64_t>(buffer_.size()); }
  int64_t last_time_ns() const { return last_time_ns_; }

 private:
  Status EndBatch() {
    builder_.Finish(sequence_, policy_.compress, &buffer_);
    return buffer_.size() >= kFlushBytes ? Flush() : OkStatus();
  }
  Status Flush() {
    RETURN_IF_ERROR(file_->WriteAt(bytes_, buffer_));
    bytes_ += static_cast<int64_t>(buffer_.size());
    buffer_.clear();
    return OkStatus();
  }

  const CompactionPolicy& policy_;
  const std::string temporary_;
  std::shared_ptr<files::File> file_;
  BatchBuilder builder_;
  std::string buffer_;
  int64_t bytes_ = 0;
  uint64_t sequence_ = 0;
  int64_t last_time_ns_ = -1;
  bool finished_ = false;
};

// Closed segments of a partition and their end offsets.
struct Closed {
  std::vector<SegmentInfo> segments;
  std::vector<int64_t> ends;
  int64_t bytes = 0;
  int64_t dirty_bytes = 0;
};

Closed ClosedSegments(const PartitionContent& content) {
  Closed closed;
  for (size_t i = 0; i + 1 < content.segments.size(); ++i) {
    const SegmentInfo& info = content.segments[i];
    const SegmentName& name = info.segment->name();
    closed.segments.push_back(info);
    closed.ends.push_back(name.compacted() ? name.end_offset
                                           : content.segments[i + 1].segment->name().base_offset);
    closed.bytes += info.bytes;
    if (!name.compacted()) closed.dirty_bytes += info.bytes;
  }
  return closed;
}

// Collects the newest offset of each key in the dirty segments, within the memory limit. Sets
// *covered to the number of segments that were read completely, including clean segments between
// them.
Status MapKeys(const CompactionPolicy& policy, const Closed& closed, DamageLog* damage,
               NewestOffsets* newest, size_t* covered) {
  size_t bytes = 0;
  bool any = false;
  for (*covered = 0; *covered < closed.segments.size(); ++*covered) {
    const SegmentInfo& info = closed.segments[*covered];
    if (info.segment->name().compacted()) continue;
    // A compressed segment may expand to far more bytes, but only its distinct keys count toward
    // the limit.
    if (any && bytes >= policy.map_bytes) return OkStatus();
    any = true;
    RETURN_IF_ERROR(ForEachRecord(info, damage, [&](const RecordView& record, uint64_t) {
      const auto [slot, added] = newest->try_emplace(std::string(record.key), record.offset);
      if (added) bytes += record.key.size() + kMapEntryBytes;
      slot->second = record.offset;
      return OkStatus();
    }));
  }
  return OkStatus();
}

}  // namespace

StatusOr<int64_t> CompactPartition(const CompactionPolicy& policy, CommittedState* state,
                                   CommittedState::Partition* partition, CommitWriter* writer,
                                   DamageLog* damage) {
  const std::string& dir = partition->dir();
  const Closed closed = ClosedSegments(state->Content(partition));
  if (closed.dirty_bytes == 0 || static_cast<double>(closed.dirty_bytes) <
                                     policy.dirty_share * static_cast<double>(closed.bytes)) {
    return 0;
  }
  // The compacted files are flushed immediately. Otherwise, the journal could end before their end
  // offset after a power loss. New appends would then start inside their range, and the next
  // recovery would delete those appends as leftovers.
  RETURN_IF_ERROR(writer->Sync(/*durable_mark=*/true));
  // While tombstones are kept, readers receive an error for offsets lost in a repair.
  const std::vector<LostRange> expired_ranges =
      state->ExpiredLost(partition, policy.tombstone_cutoff_ns);
  if (!expired_ranges.empty()) {
    Frame facts;
    facts.forgotten = expired_ranges;
    RETURN_IF_ERROR(
        writer->Rearrange(std::move(facts), [&] { state->ForgetLost(partition, expired_ranges); }));
  }
  NewestOffsets newest;
  size_t covered = 0;
  RETURN_IF_ERROR(MapKeys(policy, closed, damage, &newest, &covered));
  uint64_t run = 0;
  for (const SegmentInfo& info : closed.segments) run = std::max(run, info.segment->name().run);
  ++run;

  int64_t written = 0;
  for (size_t first = 0; first < covered;) {
    const int64_t base_offset = closed.segments[first].segment->name().base_offset;
    Output output(policy, dir, base_offset);
    RETURN_IF_ERROR(output.Open());
    int64_t dropped = 0;
    const auto keep = [&](const RecordView& record, uint64_t sequence) -> Status {
      const auto found = newest.find(record.key);
      const bool overwritten = found != newest.end() && found->second > record.offset;
      // All older records of this key were in segments rewritten by this or an earlier compaction,
      // so an old tombstone is no longer needed.
      const bool expired = record.tombstone && record.append_time_ns < policy.tombstone_cutoff_ns;
      if (!overwritten && !expired) return output.Add(record, sequence);
      ++dropped;
      return OkStatus();
    };
    // Closes the output file after the input segment that brings it to the size limit.
    size_t behind = first;
    do {
      RETURN_IF_ERROR(ForEachRecord(closed.segments[behind++], damage, keep));
    } while (behind < covered && output.bytes() < policy.segment_bytes);
    const bool unchanged =
        behind == first + 1 && closed.segments[first].segment->name().compacted() && dropped == 0;
    if (!unchanged) {
      SegmentName name;
      name.base_offset = base_offset;
      name.end_offset = closed.ends[behind - 1];
      name.run = run;
      auto segment = std::make_shared<Segment>(dir, name);
      RETURN_IF_ERROR(output.Finish(segment->path()));
      RETURN_IF_ERROR(files::SyncDirectory(dir));
      SegmentInfo merged;
      merged.segment = std::move(segment);
      merged.bytes = output.bytes();
      merged.last_time_ns = output.last_time_ns();
      // The journal is written first so that the next start does not expect the replaced files.
      Frame facts;
      facts.segments.push_back(
          {partition->key(), name.base_offset, name.end_offset, name.run, merged.bytes});
      RETURN_IF_ERROR(writer->Rearrange(std::move(facts), [&] {
        state->Replace(partition, closed.segments[first].segment.get(),
                       closed.segments[behind - 1].segment.get(), std::move(merged));
      }));
      for (size_t i = first; i < behind; ++i) {
        const Status removed = files::Remove(closed.segments[i].segment->path());
        if (!removed.ok()) PITWALL_LOG(kWarning, "log", ToStd(removed.message()));
      }
      ++written;
    }
    first = behind;
  }
  return written;
}

}  // namespace pitwall::log
