// Sender of remote write requests to one receiver. It retries until samples are accepted, rejected,
// or too old.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/history/remote/write_request.h"
#include "services/io/http_transport.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::history {

struct RemoteCounters {
  self_metrics::SharedCounter samples, bytes, requests, retries;
  // Samples that were not sent, by reason.
  self_metrics::SharedCounter refused, repeated, behind, no_schema, ahead, merged;
  self_metrics::SharedCounter duplicates, input_losses, undecodable;
  self_metrics::SharedCounter behind_records;  // skipped by a start
};

struct ReceiverOptions {
  std::string url;
  // Returns the value of the Authorization header; called for each request. Null or "": no header.
  std::function<StatusOr<std::string>()> authorization;
  int64_t timeout_ns = 30 * kNanosPerSecond;
  size_t request_samples = 5'000;
};

// Not thread-safe.
class RemoteSender {
 public:
  RemoteSender(HttpTransport* transport, const ReceiverOptions* options, RemoteCounters* counters,
               std::string name)
      : transport_(transport), options_(*options), counters_(*counters), name_(std::move(name)) {}

  // True: rejected samples are probably duplicates of an earlier run.
  void set_repeating(bool repeating) { repeating_ = repeating; }

  // Returns when each sample was accepted or rejected, and counted. Cancelled: `stop`.
  // DeadlineExceeded: `expired`, which is checked before each retry, returned true.
  Status Send(std::span<const MirroredSample> samples, const std::function<bool()>& expired,
              const std::atomic<bool>& stop, Wakeup* wakeup);

 private:
  Status Deliver(std::span<const MirroredSample> samples, int splits,
                 const std::function<bool()>& expired, const std::atomic<bool>& stop,
                 Wakeup* wakeup);
  void LogFault(const std::string& fault);

  HttpTransport* const transport_;
  const ReceiverOptions& options_;
  RemoteCounters& counters_;
  const std::string name_;
  bool repeating_ = false;
  std::string logged_fault_;  // last logged error; "": the receiver works
};

}  // namespace pitwall::history
