// Schedule of the clock ticks that the owner of a partition appends (time-model.md 2.1).
#pragma once

#include <cstdint>

#include "services/base/status.h"
#include "services/processor/partition/partition_options.h"

namespace pitwall::processor {

// Clock ticks of one owner: the time since the last tick, and the pause after a log outage. All
// times are monotonic. Not thread-safe.
class ClockTicks {
 public:
  // `options` must outlive this object.
  explicit ClockTicks(const PartitionOptions& options) : options_(options) {}

  // Starts the owner. Its first tick carries no elapsed time. Ticks pause if this owner restarts.
  void Start(int64_t now_ns);
  // Pauses ticks after a failed or slow append, because batches from other writers may also be
  // late.
  void NoteAppend(int64_t begin_ns, int64_t end_ns, const Status& status);
  // Returns true if ticks are neither disabled nor paused.
  bool Allowed(int64_t now_ns) const { return options_.clock_ticks && now_ns >= paused_until_ns_; }

  // Returns the elapsed time that a tick at `now_ns` carries.
  int64_t ElapsedAt(int64_t now_ns) const;
  // Records that the tick at `at_ns` was committed.
  void NoteCommitted(int64_t at_ns) { last_ns_ = at_ns; }

 private:
  // Pauses ticks for the outage grace period, so no source is considered silent.
  void PauseFrom(int64_t now_ns) { paused_until_ns_ = now_ns + options_.outage_grace_ns; }

  const PartitionOptions& options_;
  int64_t last_ns_ = -1;  // -1 if this owner has not written a tick yet
  int64_t paused_until_ns_ = 0;
  bool started_before_ = false;
};

}  // namespace pitwall::processor
