// Part of ReceiverWorker: stored positions, log marks
// (docs/decisions/0022-store-a-log-mark-with-each-position.md), and the worker's notification
// records in the log.
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/notifier/delivery/receiver_worker.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxMarks = 4096;

}  // namespace

StatusOr<int64_t> ReceiverWorker::OpenAt(int32_t partition, const CommittedOffset& committed) {
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
  NoteReset(Cat(ToStd(same.message()), "; continuing at offset ", from));
  RETURN_IF_ERROR(
      log_->StorePosition(group_, at, {from, disabled_ ? DisabledMark() : EncodeLogMark(mark)}));
  return from;
}

Status ReceiverWorker::FollowReplaced(int32_t partition) {
  const auto p = static_cast<size_t>(partition);
  LogFingerprint mark = marks_[p].empty() ? LogFingerprint() : marks_[p].back();
  ASSIGN_OR_RETURN(const int64_t from, FirstAfter(log_, {topic_, partition}, mark));
  NoteReset(Cat("log_truncated: ", topic_, "/", partition,
                ": the topic was deleted, recreated, or truncated; continuing at offset ", from));
  EndReplay(p);
  mark.offset = -1;
  marks_[p] = {mark};
  begin_[p] = from;
  stored_[p] = -1;
  queue_->Rebase(partition, from);
  cursor_->Rebase(partition, from);
  return OkStatus();
}

void ReceiverWorker::NoteReset(std::string text) {
  PITWALL_LOG(kError, "notifier", title_, ": ", text);
  resets_.Add();
  MutexLock lock(&mutex_);
  notice_.Set(Cat(title_, ": ", text), clock_->MonotonicNs());
}

Status ReceiverWorker::Health() const {
  MutexLock lock(&mutex_);
  return notice_.Read(clock_->MonotonicNs());
}

void ReceiverWorker::NoteMark(const FeedItem& item) {
  std::deque<LogFingerprint>& marks = marks_[static_cast<size_t>(item.partition)];
  if (!marks.empty() && item.offset <= marks.back().offset) return;
  // The newest mark may be omitted, because a fallback to an older mark only means that slightly
  // more events are resent.
  if (marks.size() >= kMaxMarks) marks.pop_back();
  marks.push_back({item.offset, item.append_time_ns});
}

LogFingerprint ReceiverWorker::MarkBelow(size_t partition, int64_t position) {
  std::deque<LogFingerprint>& marks = marks_[partition];
  while (marks.size() > 1 && marks[1].offset < position) marks.pop_front();
  return marks.empty() || marks.front().offset >= position ? LogFingerprint() : marks.front();
}

void ReceiverWorker::NoteOutcome(const FeedItem& item, std::string_view error) {
  notification_writer_.Add(
      NotificationRecordsOf(item, options_.name, receiver_->kind(), error, clock_->WallNs()));
  notification_retry_ns_ = 0;
}

void ReceiverWorker::FlushNotifications(int64_t now_ns) {
  if (notification_writer_.waiting() == 0 || now_ns < notification_retry_ns_) return;
  const Status flushed = notification_writer_.Flush();
  if (flushed.ok()) return;
  notification_retry_ns_ = clock_->MonotonicNs() + kNanosPerSecond;
  Note(Cat("failed to record notifications in the log: ", ToStd(flushed.message())));
}

void ReceiverWorker::StoreActs() {
  acts_retry_ns_ = clock_->MonotonicNs() + kStoreIntervalNs;
  acts_stored_.resize(acts_.size(), -1);
  for (size_t p = 0; p < acts_.size(); ++p) {
    if (acts_[p] == acts_stored_[p]) continue;
    const Status stored =
        log_->StorePosition(group_, {acted_->topic(), static_cast<int32_t>(p)}, {acts_[p], ""});
    if (stored.ok()) {
      acts_stored_[p] = acts_[p];
    } else {
      store_failures_.Add();
      Note(Cat("failed to store the position: ", ToStd(stored.message())));
    }
  }
}

}  // namespace pitwall::notifier
