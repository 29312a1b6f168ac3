// The newest events of the topic, kept in memory for everyone who follows it live.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/io/issue_source.h"
#include "services/notifier/receivers/action_notice.h"
#include "services/notifier/receivers/notice.h"

namespace pitwall::notifier {

// Position of a follower: the next offset per partition.
using Positions = std::vector<int64_t>;

struct FeedItem {
  int32_t partition = 0;
  int64_t offset = 0;
  IssueEventPtr event;
  size_t bytes = 0;  // of the record: what it weighs in memory, roughly
  int64_t append_time_ns = 0;
  std::shared_ptr<const Notice> notice;        // null: the event itself is sent
  std::shared_ptr<const ActionNotice> action;  // not null: this act on the event's issue is sent
  // Not null: a reminder of these issues (resend_policy.h), which is tried once.
  std::shared_ptr<const std::vector<IssueEventPtr>> states;
};

// Thread-safe. One thread per partition adds; any number reads. Holds at most `max_events`, all
// partitions together: the oldest go first.
class RecentEvents {
 public:
  RecentEvents(int32_t partitions, size_t max_events, size_t max_bytes);

  // Partition `p` is followed from `offset` on: what lies before is not here.
  void Begin(int32_t p, int64_t offset);
  // The log of partition `p` was replaced: what is known of it is dropped, and it is followed from
  // `offset` on. Wakes all listeners.
  void Restart(int32_t p, int64_t offset);
  // How often that happened.
  uint64_t Epoch(int32_t p) const;
  // The records of [.., next_offset) that are events; wakes all listeners.
  void Add(int32_t p, std::vector<FeedItem> items, int64_t next_offset);

  enum class Place { kServed, kBehind };
  // Appends the items of `p` at or after *position, at most `max`, and moves it. kBehind: the
  // window begins later than *position, nothing was appended.
  Place Read(int32_t p, size_t max, int64_t* position, std::vector<FeedItem>* out) const;
  int64_t FirstOffset(int32_t p) const;
  Positions Next() const;  // of a follower that has seen everything

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);
  // No more events come: listeners are woken for good.
  void Close();
  bool closed() const;

 private:
  struct Partition {
    std::deque<FeedItem> items;
    int64_t first = 0;  // every event at or after it (and before next) is here
    int64_t next = 0;
    uint64_t epoch = 0;
  };

  const size_t max_events_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::vector<Partition> partitions_ ABSL_GUARDED_BY(mutex_);
  std::deque<int32_t> order_ ABSL_GUARDED_BY(mutex_);  // partition of each item, oldest first
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::notifier
