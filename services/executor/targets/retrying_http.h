// HTTP calls with limited retries.
#pragma once

#include <atomic>
#include <functional>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::executor {

struct CallLimits {
  int tries = 4;
  int64_t pause_ns =
      500 * kNanosPerMilli;  // pause before the first retry; doubles for each further one
  int64_t timeout_ns = 10 * kNanosPerSecond;  // timeout of one attempt
};

// Retries a call that got no reply or a transient error (IsRetriable), and respects Retry-After up
// to 30 s. Use only for idempotent calls. Thread-safe. Clock and transport are borrowed.
class RetryingHttp {
 public:
  RetryingHttp(Clock* clock, HttpTransport* transport, CallLimits limits)
      : clock_(clock), transport_(transport), limits_(limits) {}

  // Calls `make` for each attempt, so that a rotated token is used. Returns any reply that is not
  // retriable. With `again_on_401`, retries a 401 once. Unavailable: all attempts failed; contains
  // the error of the last one.
  StatusOr<HttpReply> Perform(const std::function<StatusOr<HttpCall>()>& make,
                              bool again_on_401 = false);
  // Cancels the current call. Later calls fail.
  void Cancel() { cancelled_ = true; }

 private:
  Clock* const clock_;
  HttpTransport* const transport_;
  const CallLimits limits_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace pitwall::executor
