#include "services/notifier/delivery/stored_position.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxMarks = 4096;

}  // namespace

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
        mark_stored_ = true;
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
  LogFingerprint mark = ParseLogMark(committed.metadata);
  std::deque<LogFingerprint>& marks = marks_[static_cast<size_t>(partition)];
  marks.push_back(mark);
  const Status same = CheckLogMark(log_, at, committed.offset, mark);
  if (same.ok()) return committed.offset;
  if (!absl::IsFailedPrecondition(same)) return same;
  ASSIGN_OR_RETURN(const int64_t from, FirstAfter(log_, at, mark));
  mark.offset = -1;
  marks.back() = mark;
  report_->RecordReset(Cat(ToStd(same.message()), "; continuing at offset ", from),
                       clock_->MonotonicNs());
  RETURN_IF_ERROR(log_->StorePosition(
      group_, at, {from, report_->disabled() ? disabled_mark_ : EncodeLogMark(mark)}));
  return from;
}

StatusOr<int64_t> StoredPosition::FollowReplaced(int32_t partition) {
  const auto p = static_cast<size_t>(partition);
  LogFingerprint mark = marks_[p].empty() ? LogFingerprint() : marks_[p].back();
  ASSIGN_OR_RETURN(const int64_t from, FirstAfter(log_, {topic_, partition}, mark));
  const Status reset = LogWasReplaced({topic_, partition}, Cat("continuing at offset ", from));
  report_->RecordReset(std::string(ToStd(reset.message())), clock_->MonotonicNs());
  mark.offset = -1;
  marks_[p] = {mark};
  stored_[p] = -1;
  return from;
}

void StoredPosition::AddMark(const FeedItem& item) {
  std::deque<LogFingerprint>& marks = marks_[static_cast<size_t>(item.partition)];
  if (!marks.empty() && item.offset <= marks.back().offset) return;
  // The newest mark may be omitted, because a fallback to an older mark only means that slightly
  // more events are resent.
  if (marks.size() >= kMaxMarks) marks.pop_back();
  marks.push_back({item.offset, item.append_time});
}

LogFingerprint StoredPosition::MarkBelow(size_t partition, int64_t position) {
  std::deque<LogFingerprint>& marks = marks_[partition];
  while (marks.size() > 1 && marks[1].offset < position) marks.pop_front();
  return marks.empty() || marks.front().offset >= position ? LogFingerprint() : marks.front();
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
  mark_stored_ = false;
}

bool StoredPosition::StoreDisabledMark(const Positions& delivered) {
  if (!mark_stored_) Store(delivered);
  return mark_stored_;
}

void StoredPosition::Store(const Positions& delivered) {
  stored_at_ns_ = clock_->MonotonicNs();
  store_requested_ = false;
  const bool disabled = report_->disabled();
  bool ok = true;
  for (size_t p = 0; p < delivered.size(); ++p) {
    if (delivered[p] == stored_[p] && !disabled) continue;
    const Status stored = log_->StorePosition(
        group_, {topic_, static_cast<int32_t>(p)},
        {delivered[p], disabled ? disabled_mark_ : EncodeLogMark(MarkBelow(p, delivered[p]))});
    if (stored.ok()) {
      stored_[p] = delivered[p];
      continue;
    }
    ok = false;
    report_->RecordStoreFailure(stored);
  }
  mark_stored_ = disabled && ok;
}

}  // namespace pitwall::notifier
