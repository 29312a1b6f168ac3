#include "services/executor/targets/retrying_http.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/retry_after.h"

namespace pitwall::executor {
namespace {
constexpr int64_t kMaxRetryAfterNs = 30 * kNanosPerSecond;  // upper bound for Retry-After
constexpr int64_t kSliceNs = 200 * kNanosPerMilli;  // maximum delay until a cancellation is noticed
}  // namespace

StatusOr<HttpReply> RetryingHttp::Perform(const std::function<StatusOr<HttpCall>()>& make,
                                          bool again_on_401) {
  Status last = Internal("tries must be positive");
  int64_t pause_ns = limits_.pause_ns;
  for (int i = 0; i < limits_.tries; ++i) {
    if (i > 0 && pause_ns > 0) {
      const std::unique_ptr<Wakeup> wakeup = clock_->NewWakeup();
      const int64_t until = clock_->MonotonicNs() + pause_ns;
      for (int64_t now = clock_->MonotonicNs(); now < until && !cancelled_;
           now = clock_->MonotonicNs()) {
        wakeup->Wait(std::min(kSliceNs, until - now));
      }
      pause_ns *= 2;
    }
    if (cancelled_) return Cancelled("the executor is stopping");
    StatusOr<HttpCall> call = make();
    if (!call.ok()) return call.status();
    call->timeout = Duration::Nanos(limits_.timeout_ns);
    call->cancel = &cancelled_;
    StatusOr<HttpReply> reply = transport_->Perform(*call);
    if (!reply.ok()) {
      last = reply.status();
      if (last.code() != absl::StatusCode::kUnavailable &&
          last.code() != absl::StatusCode::kDeadlineExceeded) {
        return last;
      }
      continue;
    }
    const bool again = IsRetriable(reply->status) || (reply->status == 401 && again_on_401);
    if (!again) return reply;
    last = Unavailable(
        Cat("response ", reply->status, ": ", TerminalLine(reply->body.substr(0, 200))));
    pause_ns = std::max(pause_ns, std::min(RetryAfterOf(*reply).ns(), kMaxRetryAfterNs));
    if (reply->status != 401) continue;
    again_on_401 = false;
  }
  return Unavailable(Cat("after ", limits_.tries, " attempts: ", ToStd(last.message())));
}

}  // namespace pitwall::executor
