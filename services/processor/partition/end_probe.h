// Probe for the end of a partition's log. The owner reads the end at regular intervals.
#pragma once

#include <cstdint>

namespace pitwall::processor {

// End of the log as of the last probe, and the last time at which the owner had committed all
// records up to it. All times are monotonic. Not thread-safe.
class EndProbe {
 public:
  // Forgets the end and makes a probe due.
  void Restart() { probed_ns_ = end_ = -1; }
  // Forgets the end. Work due at the end of the log waits until the owner reaches it again.
  void ForgetEnd() { end_ = -1; }
  void NoteEnd(int64_t end) { end_ = end; }
  void NoteProbe(int64_t now_ns) { probed_ns_ = now_ns; }

  // Returns true if no probe took place in the last `interval_ns`.
  bool Due(int64_t now_ns, int64_t interval_ns) const {
    return probed_ns_ < 0 || now_ns - probed_ns_ >= interval_ns;
  }
  // Returns the time when the next probe is due.
  int64_t NextNs(int64_t interval_ns) const { return probed_ns_ + interval_ns; }
  // Returns true if the end is known and `offset` has reached it.
  bool Reached(int64_t offset) const { return end_ >= 0 && offset >= end_; }
  // Returns -1 if the end is unknown.
  int64_t end() const { return end_; }

  // Records that the owner starts at `now_ns`.
  void NoteRecovery(int64_t now_ns) { caught_up_ns_ = now_ns; }
  // Records that all records below `offset` are committed.
  void NoteCommitted(int64_t offset) {
    if (Reached(offset)) caught_up_ns_ = probed_ns_;
  }
  int64_t caught_up_ns() const { return caught_up_ns_; }

 private:
  int64_t probed_ns_ = -1;  // time at which the end of the log was last read
  int64_t end_ = -1;        // end of the log at probed_ns_
  int64_t caught_up_ns_ = 0;
};

}  // namespace pitwall::processor
