// Clock interface for the outer layers (never the engine). services/adapters/clock is the only
// production implementation; tests use tests/fakes/fake_clock.h. A lint check rejects any other
// code that reads a clock or sleeps.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/time.h"

namespace pitwall {

inline constexpr int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr int64_t kNanosPerMilli = 1'000'000;

// Level-triggered wake-up for one waiting thread. Wake() may be called from any thread, before or
// during the wait, and ends exactly one Wait. Must not be destroyed while a thread uses it.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void Wake() = 0;
  // Waits until Wake() is called or `timeout_ns` has elapsed. Returns true after Wake(). A negative
  // timeout means no limit.
  virtual bool Wait(int64_t timeout_ns) = 0;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns nanoseconds since 1970-01-01 UTC. May jump.
  virtual int64_t WallNs() const = 0;
  // Returns nanoseconds since an arbitrary origin. Never decreases, not even after suspend or NTP
  // corrections.
  virtual int64_t MonotonicNs() const = 0;
  MonotonicTime Monotonic() const { return MonotonicTime::FromNs(MonotonicNs()); }
  virtual std::unique_ptr<Wakeup> NewWakeup() = 0;
};

}  // namespace pitwall
