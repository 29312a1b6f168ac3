// The changes of all peers in one list, each place this process's own.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/insights/history.h"

namespace pitwall::insights {

// Thread-safe. The places of two processes are apart, so that a client which comes back to another
// one is told to read again.
class FleetFeed {
 public:
  static constexpr size_t kKept = 65'536;
  // `begin`: microseconds since 1970, so that places grow from start to start.
  FleetFeed(int index, uint64_t begin) : newest_((static_cast<uint64_t>(index) << 52) + begin) {}

  void Add(Change change);
  // Something was missed: whoever follows must read again.
  void Break();
  StatusOr<std::vector<Change>> After(uint64_t place, size_t max) const;
  uint64_t newest() const;

 private:
  mutable Mutex mutex_;
  uint64_t newest_ ABSL_GUARDED_BY(mutex_);
  std::deque<Change> changes_ ABSL_GUARDED_BY(mutex_);  // their places are consecutive
};

}  // namespace pitwall::insights
