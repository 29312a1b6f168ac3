// HTTP calls with a limited number of retries.
#pragma once

#include <atomic>
#include <functional>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::executor {

struct CallLimits {
  int tries = 4;
  int64_t pause_ns = 500 * kNanosPerMilli;  // before the first retry; doubles for each further one
  int64_t timeout_ns = 10 * kNanosPerSecond;  // of one attempt
};

// Retries a call without a reply, or with a reply that may change (IsRetriable), after the server's
// Retry-After of at most 30 s. For idempotent calls only. Thread-safe; clock and transport are
// borrowed.
class RetryingHttp {
 public:
  RetryingHttp(Clock* clock, HttpTransport* transport, CallLimits limits)
      : clock_(clock), transport_(transport), limits_(limits) {}

  // `make` builds each attempt, so that a rotated token is used. Returns any reply that is not
  // retriable; with `again_on_401`, a 401 is retried once. Unavailable: all attempts failed, with
  // the error of the last one.
  StatusOr<HttpReply> Perform(const std::function<StatusOr<HttpCall>()>& make,
                              bool again_on_401 = false);
  // Cancels the current call; later calls fail.
  void Cancel() { cancelled_ = true; }

 private:
  Clock* const clock_;
  HttpTransport* const transport_;
  const CallLimits limits_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace pitwall::executor
