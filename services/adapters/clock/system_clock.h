// The machine's clocks: the only module that may read one or sleep.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/clock.h"

namespace pitwall::clock {

// CLOCK_REALTIME and CLOCK_MONOTONIC, in nanoseconds. Thread-safe, no state; its wake-ups do not
// refer to it and may outlive it. Never fails.
class SystemClock final : public Clock {
 public:
  int64_t WallNs() const override;
  int64_t MonotonicNs() const override;
  std::unique_ptr<Wakeup> NewWakeup() override;
};

// How long the calling thread has run on a core, in nanoseconds: what tests measure work by.
int64_t ThreadCpuNs();

}  // namespace pitwall::clock
