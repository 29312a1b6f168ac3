// Filtered watch of issue events. Reads from the log first, and then from the in-memory window.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/io/issue_source.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/feed/topic_cursor.h"

namespace pitwall::notifier {

class LogWatch final : public IssueWatch {
 public:
  // The clock, log, and window are borrowed. The destructor decrements `count`. The watch ends at
  // `until`, the end position of each partition. If `until` is empty, the watch never ends.
  LogWatch(Clock* clock, Log* log, RecentEvents* window, std::string topic, IssueFilter filter,
           Positions positions, Positions until, std::shared_ptr<std::atomic<size_t>> count);
  ~LogWatch() override;

  StatusOr<WatchBatch> Next(size_t max_events, Duration timeout) override;
  void Cancel() override;

 private:
  WatchBatch Take(std::vector<IssueEventPtr> events) const;
  bool Finished() const;

  Clock* const clock_;
  RecentEvents* const window_;
  const std::string topic_;
  const IssueFilter filter_;
  const Positions until_;
  const std::shared_ptr<std::atomic<size_t>> count_;
  TopicCursor cursor_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> cancelled_{false};
  bool was_live_ = false;
};

}  // namespace pitwall::notifier
