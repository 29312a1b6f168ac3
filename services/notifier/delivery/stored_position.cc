#include "services/notifier/delivery/stored_position.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::notifier {

StoredPosition::StoredPosition(Clock* clock, Log* log, std::string topic, std::string group,
                               std::string disabled_mark, ReceiverReport* report)
    : clock_(clock),
      log_(log),
      topic_(std::move(topic)),
      group_(std::move(group)),
      disabled_mark_(std::move(disabled_mark)),
      report_(report) {}

StatusOr<StartPosition> StoredPosition::Open(const Positions& begin) {
  Positions positions = begin;
  marks_.resize(begin.size());
  std::vector<uint8_t> is_new(begin.size(), 0);
  for (size_t p = 0; p < positions.size(); ++p) {
    const TopicPartition at{topic_, static_cast<int32_t>(p)};
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at));
    if (committed) {
      if (committed->metadata == disabled_mark_) {
        report_->SetDisabled();
        state_ = ReceiverState::kDisabled;
      }
      ASSIGN_OR_RETURN(positions[p], OpenAt(static_cast<int32_t>(p), *committed));
    } else {
      is_new[p] = 1;
      RETURN_IF_ERROR(log_->StorePosition(group_, at, {positions[p], ""}));
    }
  }
  stored_ = positions;
  return StartPosition{std::move(positions), std::move(is_new)};
}

StatusOr<int64_t> StoredPosition::OpenAt(int32_t partition, const CommittedOffset& committed) {
  const TopicPartition at{topic_, partition};
  ReadMarks& marks = marks_[static_cast<size_t>(partition)];
  marks.Restore(ParseLogMark(committed.metadata));
  const Status same = CheckLogMark(log_, at, committed.offset, marks.newest());
  if (same.ok()) return committed.offset;
  if (!absl::IsFailedPrecondition(same)) return same;
  ASSIGN_OR_RETURN(const int64_t from, FirstAfter(log_, at, marks.newest()));
  marks.Replace();
  report_->RecordReset(Cat(ToStd(same.message()), "; continuing at offset ", from),
                       clock_->MonotonicNs());
  RETURN_IF_ERROR(log_->StorePosition(group_, at, {from, MetadataAt(partition, from)}));
  return from;
}

StatusOr<int64_t> StoredPosition::FollowReplaced(int32_t partition) {
  const auto p = static_cast<size_t>(partition);
  ASSIGN_OR_RETURN(const int64_t from, FirstAfter(log_, {topic_, partition}, marks_[p].newest()));
  const Status reset = LogWasReplaced({topic_, partition}, Cat("continuing at offset ", from));
  report_->RecordReset(std::string(ToStd(reset.message())), clock_->MonotonicNs());
  marks_[p].Replace();
  stored_[p] = -1;
  return from;
}

void StoredPosition::AddMark(const FeedItem& item) {
  marks_[static_cast<size_t>(item.partition)].OnRead({item.offset, item.append_time});
}

std::string StoredPosition::MetadataAt(int32_t partition, int64_t position) {
  if (state_ != ReceiverState::kEnabled) return disabled_mark_;
  return EncodeLogMark(marks_[static_cast<size_t>(partition)].Deliver(position));
}

void StoredPosition::StoreIfDue(const Positions& delivered, int64_t now_ns, bool idle) {
  if (now_ns - stored_at_ns_ >= kStoreIntervalNs || (idle && store_requested_))
    StoreIfChanged(delivered);
}

void StoredPosition::StoreIfChanged(const Positions& delivered) {
  if (delivered != stored_) Store(delivered);
}

int64_t StoredPosition::NextStoreNs(const Positions& delivered) const {
  return delivered == stored_ ? INT64_MAX : stored_at_ns_ + kStoreIntervalNs;
}

void StoredPosition::Disable() {
  report_->SetDisabled();
  state_ = ReceiverState::kDisabling;
}

bool StoredPosition::StoreDisabledMark(const Positions& delivered) {
  if (state_ == ReceiverState::kDisabling) Store(delivered);
  return state_ == ReceiverState::kDisabled;
}

void StoredPosition::Store(const Positions& delivered) {
  stored_at_ns_ = clock_->MonotonicNs();
  store_requested_ = false;
  const bool enabled = state_ == ReceiverState::kEnabled;
  bool ok = true;
  for (size_t p = 0; p < delivered.size(); ++p) {
    if (delivered[p] == stored_[p] && enabled) continue;
    const auto partition = static_cast<int32_t>(p);
    const Status stored = log_->StorePosition(group_, {topic_, partition},
                                              {delivered[p], MetadataAt(partition, delivered[p])});
    if (stored.ok()) {
      stored_[p] = delivered[p];
      continue;
    }
    ok = false;
    report_->RecordStoreFailure(stored);
  }
  if (!enabled) state_ = ok ? ReceiverState::kDisabled : ReceiverState::kDisabling;
}

}  // namespace pitwall::notifier
