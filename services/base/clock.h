// Interface to time for the outer layers (never the engine). Only services/adapters/clock
// implements it for production; tests use tests/fakes/fake_clock.h. The lint rejects other code
// that reads a clock or sleeps.
#pragma once

#include <cstdint>
#include <memory>

namespace pitwall {

inline constexpr int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr int64_t kNanosPerMilli = 1'000'000;

// Level-triggered wake-up of one waiting thread. Wake() may be called by any thread, before or
// during the wait; it ends exactly one Wait. Destroy it only when no thread uses it.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void Wake() = 0;
  // Waits until Wake() or until `timeout_ns` have passed. Returns true after Wake(). Negative
  // timeout: no limit.
  virtual bool Wait(int64_t timeout_ns) = 0;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since 1970-01-01 UTC; may jump.
  virtual int64_t WallNs() const = 0;
  // Nanoseconds from an arbitrary origin; never decreases, not even after suspend or NTP.
  virtual int64_t MonotonicNs() const = 0;
  virtual std::unique_ptr<Wakeup> NewWakeup() = 0;
};

}  // namespace pitwall
