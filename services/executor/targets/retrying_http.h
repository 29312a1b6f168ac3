// HTTP calls that are repeated a bounded number of times where that may help.
#pragma once

#include <atomic>
#include <functional>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::executor {

struct CallLimits {
  int tries = 4;
  int64_t pause_ns = 500 * kNanosPerMilli;  // before the second try; twice as long before each next
  int64_t timeout_ns = 10 * kNanosPerSecond;  // of one try
};

// Repeats a call that got no answer, or one that may differ later (IsRetriable), after the server's
// Retry-After of at most 30 s; so only calls that may be repeated.
// Thread-safe; clock and transport are borrowed.
class RetryingHttp {
 public:
  RetryingHttp(Clock* clock, HttpTransport* transport, CallLimits limits)
      : clock_(clock), transport_(transport), limits_(limits) {}

  // `make` builds each try, so that a token that was exchanged in the meantime is taken. Any answer
  // that is not retriable is a reply; with `again_on_401` a 401 is repeated once. Unavailable: no
  // answer in as many tries, with what the last one came to.
  StatusOr<HttpReply> Perform(const std::function<StatusOr<HttpCall>()>& make,
                              bool again_on_401 = false);
  // Ends what is going on; nothing is called after it.
  void Cancel() { cancelled_ = true; }

 private:
  Clock* const clock_;
  HttpTransport* const transport_;
  const CallLimits limits_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace pitwall::executor
