// Requests of remote write to one receiver: until it takes them, refuses them, or they are too old.
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
  // Not sent, by reason.
  self_metrics::SharedCounter refused, repeated, behind, no_schema, ahead, merged;
  self_metrics::SharedCounter duplicates, input_losses, undecodable;
  self_metrics::SharedCounter behind_records;  // that a start passed over
};

struct ReceiverOptions {
  std::string url;
  // Value of the header Authorization, read again for each request; null or "": none.
  std::function<StatusOr<std::string>()> authorization;
  int64_t timeout_ns = 30 * kNanosPerSecond;
  size_t request_samples = 5'000;
};

// One thread's.
class RemoteSender {
 public:
  RemoteSender(HttpTransport* transport, const ReceiverOptions* options, RemoteCounters* counters,
               std::string name)
      : transport_(transport), options_(*options), counters_(*counters), name_(std::move(name)) {}

  // What is refused from now on was sent before, most likely.
  void set_repeating(bool repeating) { repeating_ = repeating; }

  // Returns when each sample was taken or refused, and those are counted. Cancelled: `stop`.
  // DeadlineExceeded: `expired` said so, which is asked before each repetition.
  Status Send(std::span<const MirroredSample> samples, const std::function<bool()>& expired,
              const std::atomic<bool>& stop, Wakeup* wakeup);

 private:
  Status Deliver(std::span<const MirroredSample> samples, int splits,
                 const std::function<bool()>& expired, const std::atomic<bool>& stop,
                 Wakeup* wakeup);
  void Tell(const std::string& fault);

  HttpTransport* const transport_;
  const ReceiverOptions& options_;
  RemoteCounters& counters_;
  const std::string name_;
  bool repeating_ = false;
  std::string told_;  // the fault that was logged; "": all is well
};

}  // namespace pitwall::history
