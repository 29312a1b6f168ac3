// Probe for the end of a partition's log. The owner reads the end at regular intervals.
#pragma once

#include <cstdint>

#include "services/base/time.h"

namespace pitwall::processor {

// End of the log as of the last probe, and the last time at which the owner had committed all
// records up to it. Not thread-safe.
class EndProbe {
 public:
  // Forgets the end and makes a probe due immediately.
  void Restart() {
    probed_ = kNever;
    end_ = -1;
  }
  // Forgets the end. Work due at the end of the log waits until the owner reaches it again.
  void ForgetEnd() { end_ = -1; }
  void NoteEnd(int64_t end) { end_ = end; }
  void NoteProbe(MonotonicTime now) { probed_ = now; }

  // Returns true if no probe has taken place in the last `interval`.
  bool Due(MonotonicTime now, Duration interval) const {
    return probed_ == kNever || now - probed_ >= interval;
  }
  // Returns the time when the next probe is due.
  MonotonicTime NextProbe(Duration interval) const { return probed_ + interval; }
  // Returns true if the end is known and `offset` has reached it.
  bool Reached(int64_t offset) const { return end_ >= 0 && offset >= end_; }
  // Returns -1 if the end is unknown.
  int64_t end() const { return end_; }

  // Records that the owner recovered at `now`.
  void NoteRecovery(MonotonicTime now) { caught_up_ = now; }
  // Records that all records below `offset` are committed.
  void NoteCommitted(int64_t offset) {
    if (Reached(offset)) caught_up_ = probed_;
  }
  MonotonicTime caught_up() const { return caught_up_; }

 private:
  static constexpr MonotonicTime kNever = MonotonicTime::FromNs(-1);

  MonotonicTime probed_ = kNever;  // time at which the end of the log was last read
  int64_t end_ = -1;               // end of the log at probed_
  MonotonicTime caught_up_;
};

}  // namespace pitwall::processor
