#include "services/adapters/embedded_log/partition_reader.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {
constexpr std::string_view kGivenUp = "lost to damage and given up by `pitwall log repair`";
}  // namespace

SegmentPartitionReader::SegmentPartitionReader(std::shared_ptr<CommittedState> state,
                                               std::shared_ptr<DamageLog> damage,
                                               CommittedState::Partition* partition, Clock* clock)
    : state_(std::move(state)),
      damage_(std::move(damage)),
      partition_(partition),
      clock_(clock),
      wakeup_(clock->NewWakeup()) {
  state_->AddWaiter(partition_, wakeup_.get());
}

SegmentPartitionReader::~SegmentPartitionReader() {
  state_->RemoveWaiter(partition_, wakeup_.get());
}

Status SegmentPartitionReader::Poll(size_t max_records, size_t max_bytes, Duration timeout,
                                    std::vector<Record>* out) {
  if (max_records == 0) return InvalidArgument("max_records must be at least 1");
  if (!pending_.ok()) {
    position_ = pending_position_;
    return std::exchange(pending_, OkStatus());
  }
  // Poll returns at least one record, regardless of its size.
  Take take{max_records, max_bytes == 0 ? 1 : max_bytes, out};
  const int64_t begin_ns = timeout > Duration::Zero() ? clock_->MonotonicNs() : 0;
  for (;;) {
    const Status status = ReadNow(&take);
    if (!status.ok() && take.records > 0) {
      // The position must not move past a loss before the loss is reported to the caller.
      pending_ = status;
      pending_position_ = position_;
      position_ = out->back().offset + 1;
      return OkStatus();
    }
    RETURN_IF_ERROR(status);
    if (take.records > 0) return OkStatus();
    if (interrupted_.exchange(false)) return OkStatus();
    Duration left = timeout;
    if (timeout > Duration::Zero()) {
      left -= Duration::Nanos(clock_->MonotonicNs() - begin_ns);
      if (left <= Duration::Zero()) return OkStatus();
    }
    if (timeout == Duration::Zero()) return OkStatus();
    wakeup_->Wait(left.ns());
  }
}

Status SegmentPartitionReader::ReadNow(Take* take) {
  while (!take->full()) {
    ASSIGN_OR_RETURN(const bool open, OpenBatch());
    if (!open) return OkStatus();
    Status bad = OkStatus();
    TakeBatch(take, &bad);
    RETURN_IF_ERROR(bad);
  }
  return OkStatus();
}

void SegmentPartitionReader::TakeBatch(Take* take, Status* bad) {
  while (decoder_.more() && !take->full()) {
    RecordView view;
    Headers headers;
    Status status = decoder_.Next(&view);
    if (status.ok() && !DecodeHeaders(view.headers, &headers)) {
      status = DataLoss("record headers are malformed");
    }
    if (!status.ok()) {
      decoder_.Close();
      // Only a forged batch can pass its checksum and still fail to parse. Such a batch may already
      // have used all its offsets, so there may be no loss left to report.
      if (position_ < batch_end_) {
        *bad = Lose(batch_end_, Cat(Place(batch_at_), ": ", ToStd(status.message())), true);
      }
      return;
    }
    if (view.offset < position_) continue;
    Record& record = take->out->emplace_back();
    record.offset = view.offset;
    record.append_time = AppendTime::FromNs(view.append_time_ns);
    record.key.assign(view.key);
    record.value.assign(view.value);
    record.tombstone = view.tombstone;
    record.headers = std::move(headers);
    ++take->records;
    take->bytes += view.key.size() + view.value.size() + view.headers.size();
    position_ = view.offset + 1;
  }
}

StatusOr<bool> SegmentPartitionReader::OpenBatch() {
  for (;;) {
    if (decoder_.more()) return true;
    if (!reader_.has_value()) {
      ASSIGN_OR_RETURN(const bool entered, EnterSegment());
      if (!entered) return false;
    }
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader_->Next());
    if (step == SegmentReader::Step::kDamage) {
      const DamagedPart& part = reader_->damage();
      if (broken_.empty()) {
        broken_ = Cat(Place(part.from), " to ", part.to, ": ", part.reason);
      }
      continue;
    }
    if (step == SegmentReader::Step::kEnd) {
      ASSIGN_OR_RETURN(const bool more, LeaveSegment());
      if (!more) return false;
      continue;
    }
    const BatchHeader& header = reader_->header();
    const std::string broken = std::exchange(broken_, std::string());
    if (header.last_offset() < position_) continue;
    // Appended segments have no holes in their offsets. Only compaction creates holes.
    const bool given_up = header.base_offset > position_ &&
                          state_->LostUntil(partition_, position_, header.base_offset) > position_;
    if (header.base_offset > position_ &&
        (!broken.empty() || given_up || !view_.segment->name().compacted())) {
      const std::string why = given_up ? std::string(kGivenUp)
                              : broken.empty()
                                  ? Cat(Place(reader_->at()), ": offsets are missing before this")
                                  : broken;
      const Status lost = Lose(header.base_offset, why, !given_up);
      // The next call reads this batch.
      ASSIGN_OR_RETURN(const std::string_view again, reader_->Payload());
      batch_end_ = header.last_offset() + 1;
      batch_at_ = reader_->at();
      if (!decoder_.Open(header, again).ok()) reader_.reset();
      return lost;
    }
    ASSIGN_OR_RETURN(const std::string_view payload, reader_->Payload());
    batch_end_ = header.last_offset() + 1;
    batch_at_ = reader_->at();
    if (const Status opened = decoder_.Open(header, payload); !opened.ok()) {
      return Lose(batch_end_, Cat(Place(batch_at_), ": ", ToStd(opened.message())), true);
    }
  }
}

StatusOr<bool> SegmentPartitionReader::EnterSegment() {
  broken_.clear();
  std::shared_ptr<Segment> tried;
  for (;;) {
    view_ = state_->View(partition_, position_);
    if (view_.kind == ReadView::Kind::kEnd) return false;
    if (view_.kind == ReadView::Kind::kGone) {
      const bool given_up = state_->LostUntil(partition_, position_, view_.resume) > position_;
      return Lose(view_.resume,
                  given_up ? kGivenUp : "no longer in the log (deleted by retention or manually)",
                  false);
    }
    auto file = view_.segment->Open();
    if (file.ok()) {
      ASSIGN_OR_RETURN(const int64_t from, view_.segment->FindPosition(position_, view_.limit));
      reader_.emplace(*std::move(file), from, view_.limit, view_.segment_end);
      return true;
    }
    if (file.status().code() != absl::StatusCode::kNotFound) return file.status();
    // Compaction or retention may have deleted the file since View was called. In that case, the
    // next view differs.
    if (std::exchange(tried, view_.segment) == view_.segment) {
      return Lose(view_.segment_end, Cat(view_.segment->path(), ": the file is missing"), true);
    }
  }
}

StatusOr<bool> SegmentPartitionReader::LeaveSegment() {
  const int64_t limit = reader_->limit();
  const ReadView now = state_->View(partition_, position_);
  if (now.kind == ReadView::Kind::kSegment && now.segment == view_.segment && now.limit > limit) {
    view_ = now;
    reader_->set_limit(now.limit, now.segment_end);
    return true;
  }
  // The old view_ is used because the limit and the end of a view belong together.
  const int64_t end = view_.segment_end;
  if (position_ < end) {
    const bool hole = view_.segment->name().compacted() && broken_.empty();
    const bool given_up = state_->LostUntil(partition_, position_, end) > position_;
    if (!hole || given_up) {
      std::string why = std::exchange(broken_, std::string());
      if (given_up) why = std::string(kGivenUp);
      if (why.empty())
        why = Cat(view_.segment->path(), ": file ends before its last committed record");
      if (!view_.last) reader_.reset();
      return Lose(end, why, !given_up);
    }
    position_ = end;
  }
  broken_.clear();
  // The last segment may grow, so its reader keeps its position.
  if (now.kind == ReadView::Kind::kEnd && view_.last) return false;
  const ReadView after = state_->View(partition_, position_);
  if (after.kind == ReadView::Kind::kSegment && after.segment == view_.segment) {
    view_ = after;
    reader_->set_limit(after.limit, after.segment_end);
    return true;
  }
  if (after.kind == ReadView::Kind::kEnd && view_.last) return false;
  reader_.reset();
  return true;
}

Status SegmentPartitionReader::Lose(int64_t to, std::string_view why, bool damage) {
  const std::string& name = partition_->name();
  const std::string message =
      Cat(name, ": records at offsets ", position_, " to ", to - 1, " are lost: ", why);
  if (damage) {
    damage_->Report({.kind = DamageKind::kRecords,
                     .place = name,
                     .message = Cat("offsets ", position_, " to ", to - 1, ": ", why),
                     .topic = name.substr(0, name.rfind('/')),
                     .partition = partition_->key().partition,
                     .from_offset = position_,
                     .to_offset = to});
  }
  position_ = to;
  return DataLoss(message);
}

std::string SegmentPartitionReader::Place(int64_t at) const {
  return Cat(view_.segment->path(), " at byte ", at);
}

void SegmentPartitionReader::LeaveBatch() {
  decoder_.Close();
  reader_.reset();
  broken_.clear();
}

Status SegmentPartitionReader::Seek(int64_t offset) {
  const int64_t end = state_->EndOffset(partition_);
  if (offset == kFromStart) {
    offset = state_->StartOffset(partition_);
  } else if (offset == kFromEnd) {
    offset = end;
  } else if (offset < 0) {
    return InvalidArgument(Cat(partition_->name(), ": invalid offset ", offset));
  } else if (offset > end) {
    return OutOfRange(
        Cat(partition_->name(), ": offset ", offset, " is after the end of the log (", end, ")"));
  }
  LeaveBatch();
  pending_ = OkStatus();
  position_ = offset;
  return OkStatus();
}

StatusOr<int64_t> SegmentPartitionReader::EndOffset() { return state_->EndOffset(partition_); }
StatusOr<int64_t> SegmentPartitionReader::StartOffset() { return state_->StartOffset(partition_); }

void SegmentPartitionReader::Interrupt() {
  interrupted_.store(true);
  wakeup_->Wake();
}

}  // namespace pitwall::log
