// Composition root, which is the only code that connects the modules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/adapters/http/http_server.h"
#include "services/app/config/config.h"
#include "services/app/host/followed_rules.h"
#include "services/app/host/followed_silences.h"
#include "services/app/host/history_routes.h"
#include "services/base/status.h"
#include "services/base/system/memory_budget.h"
#include "services/collector/capture/capture_topic_bridge.h"
#include "services/collector/collector.h"
#include "services/executor/executor.h"
#include "services/executor/targets/command.h"
#include "services/history/ingest/history_service.h"
#include "services/history/peers/federated_history.h"
#include "services/history/remote/remote_write.h"
#include "services/io/io.h"
#include "services/notifier/capture_coordinator.h"
#include "services/notifier/notifier.h"
#include "services/processor/parameter_change_handler.h"
#include "services/processor/processor.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

struct Roles {
  bool collector = false;
  bool processor = false;
  bool notifier = false;
  bool executor = false;
  bool insights = false;
};

// Runs the services for the given roles in one process. Starts and stops the services in dependency
// order. Not thread-safe.
class ServiceHost {
 public:
  ServiceHost(std::string service, const Roles& roles, Config config);
  ~ServiceHost();

  // Starts the services. If an error is returned, no service is running.
  Status Start();
  // Reloads the rule files and applies the collector's sampling interval. If Reload returns an
  // error, nothing has changed. Other changes in `fresh` are logged as a warning and take effect at
  // the next start.
  Status Reload(const Config& fresh);
  // Sets the metrics for the last reload. A caller that could not load a Config reports the failure
  // here. Thread-safe.
  void ReportReload(bool successful);
  // Stops the collector first so that its sources send their goodbyes, and then stops the services
  // that read the log. Idempotent.
  void Stop();

 private:
  Status OpenLog();
  Status StartProcessor();
  Status StartCollector();
  // Applies a request for a different sampling interval if the job in the request runs on this
  // node.
  void FollowInterval(const ActionEvent& request);
  Status StartNotifier();
  Status StartExecutor();
  StatusOr<std::unique_ptr<executor::StopTarget>> KubernetesStops();
  std::unique_ptr<executor::StopTarget> SlurmStops();
  StatusOr<std::unique_ptr<executor::StopTarget>> WebhookStops();
  // Starts insights. If insights fails to start, /healthz reports the failure and the other
  // services continue.
  Status StartInsights();
  Status StartHttp();
  // Starts the federated history of this process and its peers, if peers are configured.
  Status StartFleet();
  // Starts mirroring telemetry if a remote-write receiver is configured.
  Status StartRemoteWrite(const processor::PartitionShare& share);
  // Returns the API routes. insights_ must not be null.
  std::vector<http::HttpRoute> InsightsRoutes(http::HttpServerOptions* server);
  void RegisterLogMetrics();
  void RegisterProcessorMetrics();
  void RegisterMemoryMetrics();
  void RegisterCollectorMetrics();
  void RegisterHttpMetrics();
  void RegisterReloadMetrics();
  // Reads the tokens. If no location is configured, generates and prints the tokens. On loopback,
  // no tokens are generated.
  StatusOr<AccessTokens> Tokens(const std::string& listen, const std::string& view_place,
                                const std::string& act_place, std::string_view what);
  Status Ready() const;
  // Returns an error if the embedded log has corruption that was not repaired at startup, or
  // partitions that cannot be flushed.
  Status LogHealth() const;
  Status InsightsHealth() const;
  void WatchReadiness();

  const std::string service_;
  const Roles roles_;
  Config config_;  // not readable by other threads because Reload changes it
  clock::SystemClock clock_;
  self_metrics::Exposition exposition_;
  self_metrics::Gauge last_reload_successful_;
  self_metrics::Gauge last_reload_success_;  // in Unix seconds
  std::vector<self_metrics::Registration> registrations_;
  std::unique_ptr<Log> log_;
  log::EmbeddedLog* embedded_log_ = nullptr;  // log_ if the log is embedded, otherwise null
  std::unique_ptr<Appender> appender_;
  std::unique_ptr<MemoryBudget> memory_;
  std::unique_ptr<processor::Processor> processor_;
  // Set only if this process has a processor.
  std::unique_ptr<processor::ParameterChangeHandler> parameters_;
  RulesInForce rules_in_force_;
  std::unique_ptr<FollowedSilences> followed_silences_;  // set only if this process has insights
  // Set only if this process has insights but no processor.
  std::unique_ptr<FollowedRules> followed_rules_;
  std::unique_ptr<collector::CaptureTopicBridge> capture_bridge_;
  std::unique_ptr<HttpTransport> pods_transport_;  // used by the collector
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<HttpTransport> transport_;
  std::unique_ptr<MailTransport> mail_;
  std::unique_ptr<notifier::Notifier> notifier_;
  std::unique_ptr<notifier::CaptureCoordinator> captures_;
  std::unique_ptr<grpc_adapter::IssueServer> grpc_;
  std::unique_ptr<executor::ProcessControl> processes_;
  std::vector<std::unique_ptr<HttpTransport>> stop_transports_;  // used by the targets below
  std::unique_ptr<executor::CommandRunner> commands_;            // used by a target below
  std::vector<std::unique_ptr<executor::StopTarget>> stop_targets_;
  std::unique_ptr<executor::Executor> executor_;
  std::unique_ptr<history::HistoryService> insights_;
  Status insights_fault_;  // reason why insights_ is null; OK otherwise
  std::unique_ptr<HttpTransport> peer_transport_;
  std::unique_ptr<history::FederatedHistory> fleet_;  // null if one process stores all jobs
  std::unique_ptr<HttpTransport> remote_transport_;
  std::unique_ptr<history::RemoteWrite> remote_write_;
  std::unique_ptr<http::HttpServer> http_;
  AccessTokens http_tokens_;
  std::unique_ptr<Wakeup> readiness_wakeup_;
  std::atomic<bool> stopping_{false};
  std::thread readiness_thread_;
};

}  // namespace pitwall
