// Lifecycle of the collector: it starts once and stops once.
#pragma once

#include <functional>
#include <memory>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::collector {

// Thread-safe. Start and Stop are mutually exclusive.
class Lifecycle {
 public:
  // The caller owns the clock.
  explicit Lifecycle(Clock& clock) : finished_(clock.NewWakeup()) {}

  // Calls `start`. Returns FailedPrecondition if an earlier call returned OK.
  Status Start(const std::function<Status()>& start);
  // Calls `stop` and ends Await. Has no effect before Start, and after the first call.
  void Stop(const std::function<void()>& stop);
  // Waits for Stop or RequestStop.
  void Await() { finished_->Wait(-1); }
  // Ends Await without blocking.
  void RequestStop() { finished_->Wake(); }

 private:
  const std::unique_ptr<Wakeup> finished_;
  Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::collector
