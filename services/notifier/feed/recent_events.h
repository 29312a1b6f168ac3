// In-memory window of the topic's newest events, for live followers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/time.h"
#include "services/io/issue_source.h"
#include "services/notifier/receivers/action_notice.h"
#include "services/notifier/receivers/notice.h"

namespace pitwall::notifier {

// Position of a follower: its next offset in each partition.
using Positions = std::vector<int64_t>;

struct FeedItem {
  int32_t partition = 0;
  int64_t offset = 0;
  IssueEventPtr event;
  size_t bytes = 0;  // approximate memory usage, derived from the record size
  AppendTime append_time;
  std::shared_ptr<const Notice> notice;        // if null, send the event itself
  std::shared_ptr<const ActionNotice> action;  // if not null, send this action on the event's issue
  // If not null, the item is a reminder about these issues (resend_policy.h). Reminders are sent
  // without retries.
  std::shared_ptr<const std::vector<IssueEventPtr>> states;
};

// Thread-safe. One thread per partition adds events, and any thread may read. Keeps at most
// `max_events` events across all partitions and evicts the oldest events first.
class RecentEvents {
 public:
  RecentEvents(int32_t partitions, size_t max_events, size_t max_bytes);

  // Starts partition `p` at `offset`. The window does not contain events before `offset`.
  void Begin(int32_t p, int64_t offset);
  // Drops the events of partition `p` after its log was replaced, and restarts the partition at
  // `offset`. Wakes all listeners.
  void Restart(int32_t p, int64_t offset);
  // Returns the number of times that Restart was called for the partition.
  uint64_t Epoch(int32_t p) const;
  // Adds the events from the records before `next_offset`. Wakes all listeners.
  void Add(int32_t p, std::vector<FeedItem> items, int64_t next_offset);

  enum class Place { kServed, kBehind };
  // Appends at most `max` items of partition `p` at or after *position, and advances *position. If
  // the window starts after *position, returns kBehind and appends nothing.
  Place Read(int32_t p, size_t max, int64_t* position, std::vector<FeedItem>* out) const;
  int64_t FirstOffset(int32_t p) const;
  Positions Next() const;  // position of a follower that has read everything

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);
  // Closes the window permanently and wakes all listeners. No more events follow.
  void Close();
  bool closed() const;

 private:
  struct Partition {
    std::deque<FeedItem> items;
    int64_t first = 0;  // the window contains every event in [first, next)
    int64_t next = 0;
    uint64_t epoch = 0;
  };

  const size_t max_events_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::vector<Partition> partitions_ ABSL_GUARDED_BY(mutex_);
  std::deque<int32_t> order_ ABSL_GUARDED_BY(mutex_);  // partition of each item, oldest item first
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::notifier
