// Schedule of the clock ticks that the owner of a partition appends (time-model.md 2.1).
#pragma once

#include <optional>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/processor/partition/partition_options.h"

namespace pitwall::processor {

// Clock ticks of one owner: the time since the last tick, and the pause after a log outage. Not
// thread-safe.
class ClockTicks {
 public:
  // `options` must outlive this object.
  explicit ClockTicks(const PartitionOptions& options) : options_(options) {}

  // Records that the owner started. Its first tick carries no elapsed time. If this is a restart,
  // ticks are paused.
  void Start(MonotonicTime now);
  // Pauses ticks after a failed or slow append, because batches from other writers may also be
  // late.
  void NoteAppend(MonotonicTime begin, MonotonicTime end, const Status& status);
  // Returns true if ticks are neither disabled nor paused.
  bool Allowed(MonotonicTime now) const { return options_.clock_ticks && now >= paused_until_; }

  // Returns the elapsed time that a tick at `now` carries.
  Duration ElapsedAt(MonotonicTime now) const;
  // Records that the tick at `at` was committed.
  void NoteCommitted(MonotonicTime at) { last_ = at; }

 private:
  // Pauses ticks for the outage grace period, so no source is considered silent.
  void PauseFrom(MonotonicTime now) { paused_until_ = now + options_.outage_grace; }

  const PartitionOptions& options_;
  std::optional<MonotonicTime> last_;  // nullopt if this owner has not written a tick yet
  MonotonicTime paused_until_;
  bool started_before_ = false;
};

}  // namespace pitwall::processor
