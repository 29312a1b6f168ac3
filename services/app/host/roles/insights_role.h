// Insights in this process: the history of all jobs, its peers, and the telemetry mirror.
#pragma once

#include <memory>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/app/config/config.h"
#include "services/app/host/history_routes.h"
#include "services/app/host/roles/followed_rules.h"
#include "services/app/host/roles/followed_silences.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/history/ingest/history_service.h"
#include "services/history/peers/federated_history.h"
#include "services/history/remote/remote_write.h"
#include "services/io/capture_source.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/processor/processor.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Start, Serve, and Stop must be called on one thread. Health and Ready may be called from any
// thread after Start. All pointers are borrowed.
class InsightsRole {
 public:
  // `alone` is true if the process has no other role. `rules` is null if the process has no
  // processor.
  InsightsRole(Clock* clock, Log* log, self_metrics::Exposition* exposition, bool alone,
               const RulesInForce* rules)
      : clock_(clock), log_(log), exposition_(exposition), alone_(alone), rules_in_force_(rules) {}

  // Starts the history. If the history fails to start, Health reports the failure, and the call
  // fails only if the process has no other role.
  Status Start(const Config& config);
  // Returns the API routes. If peers are configured, starts the federated history for this process
  // and its peers. Sets the sessions and threads of `server`. Its tokens must already be set.
  // Returns no routes if the history failed to start. `captures` may be null.
  StatusOr<std::vector<http::HttpRoute>> Serve(const Config& config, CaptureSource* captures,
                                               http::HttpServerOptions* server);
  void Stop();

  Status Health() const;
  // Returns the reason why the history is not complete yet, or OK. Requires that the history has
  // started.
  Status Ready() const { return insights_->Ready(); }

 private:
  Status StartFleet(const Config& config, const AccessTokens& tokens);
  // Starts mirroring telemetry if a remote-write receiver is configured.
  Status StartRemoteWrite(const RemoteWriteConfig& config, const processor::PartitionShare& share);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  const bool alone_;
  const RulesInForce* const rules_in_force_;
  std::unique_ptr<FollowedSilences> followed_silences_;  // set if the history has started
  // Set only if the process has no processor.
  std::unique_ptr<FollowedRules> followed_rules_;
  std::unique_ptr<history::HistoryService> insights_;
  Status insights_fault_;  // reason why insights_ is null; OK otherwise
  std::unique_ptr<HttpTransport> peer_transport_;
  std::unique_ptr<history::FederatedHistory> fleet_;  // null if a single process stores all jobs
  std::unique_ptr<HttpTransport> remote_transport_;
  std::unique_ptr<history::RemoteWrite> remote_write_;
};

}  // namespace pitwall
