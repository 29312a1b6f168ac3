// In-memory ring of recent changes for followers, bounded by count and bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

// Thread-safe. Positions start at the current wall-clock time, so they increase across restarts
// unless the clock moves backward.
class ChangeFeed {
 public:
  static constexpr size_t kKept = 65'536;
  static constexpr size_t kKeptBytes = size_t{8} << 20;
  // Keeps at most `kept` changes.
  explicit ChangeFeed(uint64_t first_place, size_t kept = kKept)
      : kept_(kept), newest_(first_place) {}

  void Add(Change change);
  // Invalidates all positions because changes were missed. Followers must then reread everything.
  void Break();
  StatusOr<std::vector<Change>> After(uint64_t place, size_t max) const;
  uint64_t newest() const;

 private:
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t kept_;
  mutable Mutex mutex_;
  uint64_t newest_ ABSL_GUARDED_BY(mutex_);
  std::deque<Change> changes_ ABSL_GUARDED_BY(mutex_);  // changes have consecutive positions
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;            // estimated memory of changes_
};

}  // namespace pitwall::history
