#include "services/history/remote/remote_sender.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/retry_after.h"

namespace pitwall::history {
namespace {

constexpr int64_t kFirstPauseNs = 100 * kNanosPerMilli;
constexpr int64_t kLongestPauseNs = 30 * kNanosPerSecond;
constexpr int64_t kLongestWishNs = 300 * kNanosPerSecond;  // upper bound for the Retry-After delay
// Maximum number of times that a rejected request is split. A receiver may reject a whole request
// because of a single sample, and halving isolates that sample.
constexpr int kMaxSplits = 64;

// Returns true if a single sample or the size of the request may have caused the rejection.
bool IsOfOneSample(int status) {
  return status == 400 || status == 409 || status == 413 || status == 422;
}

}  // namespace

void RemoteSender::LogFault(const std::string& fault) {
  if (fault == logged_fault_) return;
  logged_fault_ = fault;
  if (fault.empty()) {
    PITWALL_LOG(kInfo, "insights", "remote_write: ", name_,
                ": the receiver is accepting samples again");
  } else {
    PITWALL_LOG(kWarning, "insights", "remote_write: ", name_, ": ", fault);
  }
}

Status RemoteSender::Send(std::span<const MirroredSample> samples,
                          const std::function<bool()>& expired, Worker* worker) {
  while (!samples.empty()) {
    const size_t count = std::min(samples.size(), options_.request_samples);
    RETURN_IF_ERROR(Deliver(samples.first(count), kMaxSplits, expired, worker));
    samples = samples.subspan(count);
  }
  return OkStatus();
}

Status RemoteSender::Deliver(std::span<const MirroredSample> samples, int splits,
                             const std::function<bool()>& expired, Worker* worker) {
  HttpCall call;
  call.url = options_.url;
  call.body = EncodeWriteRequest(samples);
  call.timeout = Duration::Nanos(options_.timeout_ns);
  call.cancel = worker->stop_flag();
  call.status_suffices = true;
  int64_t pause_ns = kFirstPauseNs;
  while (true) {
    if (worker->stopping()) return absl::CancelledError("remote_write: stopping");
    if (expired()) return absl::DeadlineExceededError("remote_write: too far behind");
    call.headers = {{"Content-Type", "application/x-protobuf"},
                    {"Content-Encoding", "snappy"},
                    {"X-Prometheus-Remote-Write-Version", "0.1.0"}};
    StatusOr<std::string> authorization = std::string();
    if (options_.authorization) authorization = options_.authorization();
    StatusOr<HttpReply> reply = Unavailable("");
    if (!authorization.ok()) {
      reply = authorization.status();
    } else {
      if (!authorization->empty()) call.headers.emplace_back("Authorization", *authorization);
      counters_.requests.Add();
      reply = transport_->Perform(call);
    }
    if (worker->stopping() && !reply.ok()) continue;
    int64_t wish_ns = 0;
    if (!reply.ok()) {
      LogFault(Cat("no response (", ToStd(reply.status().message()), "); retrying"));
    } else if (reply->status / 100 == 2) {
      counters_.samples.Add(samples.size());
      counters_.bytes.Add(call.body.size());
      LogFault("");
      return OkStatus();
    } else if (IsRetriable(reply->status)) {
      wish_ns = std::min(RetryAfterOf(*reply).ns(), kLongestWishNs);
      LogFault(Cat("the receiver returned ", reply->status, "; retrying"));
    } else if (IsOfOneSample(reply->status) && samples.size() > 1 && splits > 1) {
      const size_t half = samples.size() / 2;
      RETURN_IF_ERROR(Deliver(samples.first(half), splits / 2, expired, worker));
      return Deliver(samples.subspan(half), splits / 2, expired, worker);
    } else {
      if (repeating_) {
        counters_.repeated.Add(samples.size());
        return OkStatus();
      }
      counters_.refused.Add(samples.size());
      // Each status is logged only once, because a receiver that rejects part of each request would
      // otherwise flood the log.
      if (const std::string of_status = Cat("the receiver rejects samples with ", reply->status);
          !StartsWith(logged_fault_, of_status)) {
        LogFault(Cat(of_status, " (", Trim(std::string_view(reply->body).substr(0, 300)),
                     "); rejected samples are dropped and counted"));
      }
      return OkStatus();
    }
    counters_.retries.Add();
    worker->Wait(std::max(pause_ns, wish_ns));
    pause_ns = std::min(2 * pause_ns, kLongestPauseNs);
  }
}

}  // namespace pitwall::history
