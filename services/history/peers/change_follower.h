// Follower for changes from all processes in a fleet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/history/change_feed.h"
#include "services/history/history.h"
#include "services/history/peers/job_locator.h"

namespace pitwall::history {

// Follower with one thread per process. Each thread adds the changes of its process to a common
// feed. Thread-safe, except for Start and Stop. Does not own its arguments.
class ChangeFollower {
 public:
  // Polls each process every `interval_ns`.
  ChangeFollower(const History* own, const JobLocator* fleet, Clock* clock, int64_t interval_ns);
  ~ChangeFollower() { Stop(); }
  void Start();
  void Stop();

  // Returns the changes of all processes, with positions assigned by this process.
  const ChangeFeed& feed() const { return feed_; }

 private:
  void Follow(int index, Worker* worker);
  // Adds new changes to the feed. An empty `place` means that the position is unknown and changes
  // may have been missed. `first` is true until the process responds for the first time. Returns
  // early if `worker` must stop.
  Status Look(int index, const Worker& worker, std::optional<uint64_t>* place, bool* first);
  StatusOr<uint64_t> NewestPlace(int index) const;
  StatusOr<std::vector<Change>> ChangesAfter(int index, uint64_t place) const;

  const History* const own_;
  const JobLocator& fleet_;
  Clock* const clock_;
  const int64_t interval_ns_;
  ChangeFeed feed_;
  std::vector<std::unique_ptr<Worker>> followers_;
};

}  // namespace pitwall::history
