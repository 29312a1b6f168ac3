// The seam through which the shell (never the engine) meets time. Only services/adapters/clock
// implements it for real; tests use tests/fakes/fake_clock.h. Reading a clock or sleeping anywhere
// else fails the lint.
#pragma once

#include <cstdint>
#include <memory>

namespace pitwall {

inline constexpr int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr int64_t kNanosPerMilli = 1'000'000;

// A level-triggered wake-up for one waiting thread. Wake() may come from any thread, before or
// during the wait; it ends exactly one Wait. Destroy only when nobody waits or wakes any more.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void Wake() = 0;
  // Waits until woken or until `timeout_ns` have passed. Returns true when woken. Negative timeout:
  // no limit.
  virtual bool Wait(int64_t timeout_ns) = 0;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since 1970-01-01 UTC; may jump.
  virtual int64_t WallNs() const = 0;
  // Nanoseconds from an arbitrary origin; never goes back, not even after suspend/NTP.
  virtual int64_t MonotonicNs() const = 0;
  virtual std::unique_ptr<Wakeup> NewWakeup() = 0;
};

}  // namespace pitwall
