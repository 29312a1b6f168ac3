// Reports refusals to the refused client, the counters, and the log.
#pragma once

#include <array>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/clients/socket/log_interval.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/metrics/refusal.h"
#include "services/collector/processes/peer_process.h"

namespace pitwall::collector {

// Used only by the server's thread. Never waits for a client.
class RefusalReporter {
 public:
  // The caller owns the clock and the counters.
  RefusalReporter(const Clock& clock, Counters* counters) : clock_(clock), counters_(counters) {}

  // Sends the refusal to the client, counts it, and logs it at a limited rate per reason.
  void Report(int fd, const Peer& peer, std::string_view owner, const Status& refused);

 private:
  const Clock& clock_;
  Counters* const counters_;
  std::array<LogInterval, kRefusals> logged_;
};

}  // namespace pitwall::collector
