// Insights in this process: the history of all jobs, its peers, and the telemetry mirror.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/app/config/config.h"
#include "services/app/host/history_routes.h"
#include "services/app/host/roles/followed_rules.h"
#include "services/app/host/roles/followed_silences.h"
#include "services/app/host/service.h"
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

// All pointers are borrowed.
class InsightsRole final : public Service {
 public:
  // `alone` is true if the process has no other role. `rules` is null if the process has no
  // processor, and `captures` is null if it has no notifier.
  InsightsRole(Clock* clock, Log* log, self_metrics::Exposition* exposition, bool alone,
               const RulesInForce* rules, CaptureSource* captures)
      : clock_(clock),
        log_(log),
        exposition_(exposition),
        alone_(alone),
        rules_in_force_(rules),
        captures_(captures) {}

  std::string_view name() const override { return "insights"; }
  // Starts the history. If the history fails to start, Health reports the failure, and the call
  // fails only if the process has no other role.
  Status Start(const Config& config) override;
  void Stop() override;
  Status Health() const override;
  // Returns the reason why the history is not complete yet, or OK. The history affects readiness
  // only if the process has no other role.
  Status Ready() const override;
  // Returns the API routes. If peers are configured, starts the federated history for this process
  // and its peers. Sets the sessions and threads of `server`. Returns no routes if the history
  // failed to start.
  StatusOr<std::vector<http::HttpRoute>> Routes(const Config& config,
                                                http::HttpServerOptions* server) override;

 private:
  Status StartFleet(const Config& config, const AccessTokens& tokens);
  // Starts mirroring telemetry if a remote-write receiver is configured.
  Status StartRemoteWrite(const RemoteWriteConfig& config, const processor::PartitionShare& share);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  const bool alone_;
  const RulesInForce* const rules_in_force_;
  CaptureSource* const captures_;
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
