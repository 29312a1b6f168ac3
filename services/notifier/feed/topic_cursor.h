// One follower's way through the topic: out of the window where it can, out of the log where it
// must.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// For one thread. Window and log are borrowed. Readers of the log are open only while a partition
// is behind.
class TopicCursor {
 public:
  TopicCursor(Log* log, const RecentEvents* window, std::string topic, Positions positions);

  // Appends at most `max` (> 0) further events and moves on. Nothing appended: see caught_up().
  // Waits at most `kHistoryPollNs` for the log. DataLoss: events before the new position are gone;
  // the next call goes on after them. FailedPrecondition: the log of partition reset() was
  // replaced; only Rebase lets the cursor go on.
  Status Next(size_t max, std::vector<FeedItem>* out);

  // After a Next that appended nothing: whether there was nothing more (else call again).
  bool caught_up() const { return caught_up_; }
  int32_t reset() const { return reset_; }
  // The partition is followed from `position` on, in the log that it has now.
  void Rebase(int32_t p, int64_t position);
  // Whether each partition was served out of the window by the last Next.
  bool live() const { return live_; }
  const Positions& positions() const { return positions_; }
  uint64_t undecodable() const { return undecodable_; }

  static constexpr int64_t kHistoryPollNs = 200'000'000;

 private:
  Status ReadLog(int32_t p, size_t max, std::vector<FeedItem>* out);

  Log* const log_;
  const RecentEvents* const window_;
  const std::string topic_;
  Positions positions_;
  std::vector<std::unique_ptr<PartitionReader>> readers_;
  std::vector<uint64_t> epochs_;  // of the window's partitions
  int32_t reset_ = 0;
  size_t turn_ = 0;  // the partition that comes first next time
  bool caught_up_ = false;
  bool live_ = false;
  uint64_t undecodable_ = 0;
};

}  // namespace pitwall::notifier
