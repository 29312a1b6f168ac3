// Sender of remote write requests to one receiver. It retries until the samples are accepted,
// rejected, or too old.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/history/remote/write_request.h"
#include "services/io/http_transport.h"
#include "services/self_metrics/instruments.h"

namespace pitwall::history {

struct RemoteCounters {
  self_metrics::SharedCounter samples, bytes, requests, retries;
  // Counts of unsent samples by reason.
  self_metrics::SharedCounter refused, repeated, behind, no_schema, ahead, merged;
  self_metrics::SharedCounter duplicates, input_losses, log_resets, undecodable;
  self_metrics::SharedCounter behind_records;  // records that were skipped at startup
};

struct ReceiverOptions {
  std::string url;
  // Returns the value of the Authorization header. Called for each request. If the function is null
  // or returns "", the header is omitted.
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

  // If true, rejected samples probably duplicate samples from an earlier run.
  void set_repeating(bool repeating) { repeating_ = repeating; }

  // Returns once every sample has been accepted, or rejected and counted. Returns Cancelled if
  // `worker` must stop, and DeadlineExceeded if `expired` returned true. `expired` is called before
  // each attempt.
  Status Send(std::span<const MirroredSample> samples, const std::function<bool()>& expired,
              Worker* worker);

 private:
  Status Deliver(std::span<const MirroredSample> samples, int splits,
                 const std::function<bool()>& expired, Worker* worker);
  void LogFault(const std::string& fault);

  HttpTransport* const transport_;
  const ReceiverOptions& options_;
  RemoteCounters& counters_;
  const std::string name_;
  bool repeating_ = false;
  std::string logged_fault_;  // last logged error; "" if the last request succeeded
};

}  // namespace pitwall::history
