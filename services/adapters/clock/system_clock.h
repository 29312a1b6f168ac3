// System clocks. No other module reads a clock or sleeps.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/clock.h"

namespace pitwall::clock {

// Clock based on CLOCK_REALTIME and CLOCK_MONOTONIC, in nanoseconds. Thread-safe and stateless. Its
// wakeups do not reference the clock and may outlive it. Never fails.
class SystemClock final : public Clock {
 public:
  int64_t WallNs() const override;
  int64_t MonotonicNs() const override;
  std::unique_ptr<Wakeup> NewWakeup() override;
};

// Returns the CPU time of the calling thread in nanoseconds. Tests use it to measure work.
int64_t ThreadCpuNs();

}  // namespace pitwall::clock
