// Simulated clock that a test advances while service threads are running.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "services/adapters/clock/system_clock.h"
#include "services/base/clock.h"

namespace pitwall::soak {

// Waits return within milliseconds of real time after the clock has passed their deadline.
// Thread-safe.
class SimClock final : public Clock {
 public:
  explicit SimClock(int64_t wall_ns) : begin_ns_(wall_ns) {}

  int64_t WallNs() const override { return begin_ns_ + MonotonicNs(); }
  int64_t MonotonicNs() const override { return *now_ns_; }
  std::unique_ptr<Wakeup> NewWakeup() override {
    return std::make_unique<SimWakeup>(now_ns_, system_.NewWakeup());
  }
  void Advance(int64_t ns) { *now_ns_ += ns; }

 private:
  using Now = std::shared_ptr<std::atomic<int64_t>>;

  class SimWakeup final : public Wakeup {
   public:
    SimWakeup(Now now_ns, std::unique_ptr<Wakeup> real)
        : now_ns_(std::move(now_ns)), real_(std::move(real)) {}
    void Wake() override { real_->Wake(); }
    bool Wait(int64_t timeout_ns) override {
      if (timeout_ns < 0) return real_->Wait(-1);
      const int64_t until = *now_ns_ + timeout_ns;
      while (*now_ns_ < until) {
        if (real_->Wait(kLookNs)) return true;
      }
      return real_->Wait(0);
    }

   private:
    static constexpr int64_t kLookNs = 2 * kNanosPerMilli;
    const Now now_ns_;
    const std::unique_ptr<Wakeup> real_;
  };

  const int64_t begin_ns_;
  const Now now_ns_ = std::make_shared<std::atomic<int64_t>>(0);
  clock::SystemClock system_;
};

}  // namespace pitwall::soak
