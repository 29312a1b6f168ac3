// Cursor for one follower of a topic. Reads from the window of recent events if possible, and
// otherwise from the log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Used by a single thread. The window and log are borrowed. A partition has an open log reader only
// while its position is behind the window.
class TopicCursor {
 public:
  TopicCursor(Log* log, const RecentEvents* window, std::string topic, Positions positions);

  // Appends at most `max` (> 0) events and advances the cursor. If no events were appended, check
  // caught_up(). Waits at most `kHistoryPoll` for the log. DataLoss: events before the new position
  // were deleted, and the next call continues after them. FailedPrecondition: the log of partition
  // reset() was replaced. Call Rebase before the next call.
  Status Next(size_t max, std::vector<FeedItem>* out);

  // Valid only after a call to Next that appended no events. Returns true if no more events are
  // available, and false if the caller should call Next again.
  bool caught_up() const { return caught_up_; }
  int32_t reset() const { return reset_; }
  // Moves the cursor to `position` in the current log of the partition.
  void Rebase(int32_t p, int64_t position);
  // Returns true if the last call to Next read every partition from the window.
  bool live() const { return live_; }
  const Positions& positions() const { return positions_; }
  uint64_t undecodable() const { return undecodable_; }

  static constexpr Duration kHistoryPoll = Duration::Millis(200);

 private:
  Status ReadLog(int32_t p, size_t max, std::vector<FeedItem>* out);

  Log* const log_;
  const RecentEvents* const window_;
  const std::string topic_;
  Positions positions_;
  std::vector<std::unique_ptr<PartitionReader>> readers_;
  std::vector<uint64_t> epochs_;  // the window's epoch for each partition
  int32_t reset_ = 0;
  size_t turn_ = 0;  // partition that the next call to Next reads first
  bool caught_up_ = false;
  bool live_ = false;
  uint64_t undecodable_ = 0;
};

}  // namespace pitwall::notifier
