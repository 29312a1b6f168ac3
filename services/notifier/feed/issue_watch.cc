#include "services/notifier/feed/issue_watch.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/notifier/feed/resume_token.h"

namespace pitwall::notifier {

// Number of scanned events after which a watcher gets a bookmark, even if the filter rejects all
// events.
constexpr size_t kScanPerCall = 20'000;

LogWatch::LogWatch(Clock* clock, Log* log, RecentEvents* window, std::string topic,
                   IssueFilter filter, Positions positions, Positions until,
                   std::shared_ptr<std::atomic<size_t>> count)
    : clock_(clock),
      window_(window),
      topic_(topic),
      filter_(std::move(filter)),
      until_(std::move(until)),
      count_(std::move(count)),
      cursor_(log, window, std::move(topic), std::move(positions)),
      wakeup_(clock->NewWakeup()) {
  window_->Listen(wakeup_.get());
}

LogWatch::~LogWatch() {
  window_->Unlisten(wakeup_.get());
  --*count_;
}

void LogWatch::Cancel() {
  cancelled_ = true;
  wakeup_->Wake();
}

WatchBatch LogWatch::Take(std::vector<IssueEventPtr> events) const {
  return {std::move(events), EncodeResumeToken(topic_, cursor_.positions()), Finished()};
}

bool LogWatch::Finished() const {
  if (until_.empty()) return false;
  for (size_t p = 0; p < until_.size(); ++p) {
    if (cursor_.positions()[p] < until_[p]) return false;
  }
  return true;
}

StatusOr<WatchBatch> LogWatch::Next(size_t max_events, Duration timeout) {
  const int64_t deadline = clock_->MonotonicNs() + timeout.ns();
  size_t scanned = 0;
  std::vector<FeedItem> items;
  std::vector<IssueEventPtr> events;
  while (true) {
    if (cancelled_) return Cancelled("the watch was canceled");
    if (window_->closed()) return Unavailable("the notifier is stopping");
    items.clear();
    const Status read = cursor_.Next(max_events, &items);
    if (read.code() == absl::StatusCode::kDataLoss) {
      return OutOfRange(Cat("resume_token: the events after this token were deleted (",
                            ToStd(read.message()), "); list, then watch again"));
    }
    if (absl::IsFailedPrecondition(read))
      return OutOfRange(Cat(ToStd(read.message()), "; list, then watch again"));
    RETURN_IF_ERROR(read);
    if (was_live_ && !cursor_.live()) {
      return ResourceExhausted(
          "the watcher fell behind the events kept in memory; resume with the last token");
    }
    was_live_ = cursor_.live();
    for (FeedItem& item : items) {
      if (filter_.Matches(*item.event)) events.push_back(std::move(item.event));
    }
    scanned += items.size();
    const int64_t left = deadline - clock_->MonotonicNs();
    if (!events.empty() || scanned >= kScanPerCall || left <= 0 || Finished())
      return Take(std::move(events));
    if (cursor_.caught_up()) wakeup_->Wait(left);
  }
}

}  // namespace pitwall::notifier
