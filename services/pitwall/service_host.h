// The composition root: the one place that wires modules to each other.
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
#include "services/pitwall/config.h"
#include "services/pitwall/followed_rules.h"
#include "services/pitwall/followed_silences.h"
#include "services/pitwall/history_routes.h"
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

// Starts the services of its roles in one process and stops them in order. Not thread-safe.
class ServiceHost {
 public:
  ServiceHost(std::string service, const Roles& roles, Config config);
  ~ServiceHost();

  // On error nothing runs.
  Status Start();
  // Reads the rule files again and puts them in force, and sets the collector's interval. On an
  // error nothing has changed. What else differs in `fresh` waits for the next start, and a
  // warning says so.
  Status Reload(const Config& fresh);
  // Sets the metrics of the last read of the configuration, for a caller that has no Config to pass
  // to Reload. Any thread.
  void ReportReload(bool successful);
  // Collector first (it says goodbye for its sources), then what reads. Idempotent.
  void Stop();

 private:
  Status OpenLog();
  Status StartProcessor();
  Status StartCollector();
  // Follows a request for another sampling interval, where its job is on this node.
  void FollowInterval(const ActionEvent& request);
  Status StartNotifier();
  Status StartExecutor();
  StatusOr<std::unique_ptr<executor::StopTarget>> KubernetesStops();
  std::unique_ptr<executor::StopTarget> SlurmStops();
  StatusOr<std::unique_ptr<executor::StopTarget>> WebhookStops();
  // A history that cannot be kept is told by /healthz; it stops nothing else.
  Status StartInsights();
  Status StartHttp();
  // The history of this process and its peers, where there are some.
  Status StartFleet();
  // Mirrors the telemetry, where a receiver is configured.
  Status StartRemoteWrite(const processor::PartitionShare& share);
  // The API over insights_, which is there.
  std::vector<http::HttpRoute> InsightsRoutes(http::HttpServerOptions* server);
  void RegisterLogMetrics();
  void RegisterProcessorMetrics();
  void RegisterMemoryMetrics();
  void RegisterCollectorMetrics();
  void RegisterHttpMetrics();
  void RegisterReloadMetrics();
  // Read from their places; beyond loopback made and printed where no place is given.
  StatusOr<AccessTokens> Tokens(const std::string& listen, const std::string& view_place,
                                const std::string& act_place, std::string_view what);
  Status Ready() const;
  // Damage of the embedded log that no start made good, and partitions that cannot be flushed.
  Status LogHealth() const;
  Status InsightsHealth() const;
  void WatchReadiness();

  const std::string service_;
  const Roles roles_;
  Config config_;  // the threads do not read it: Reload changes it
  clock::SystemClock clock_;
  self_metrics::Exposition exposition_;
  self_metrics::Gauge last_reload_successful_;
  self_metrics::Gauge last_reload_success_;  // Unix seconds
  std::vector<self_metrics::Registration> registrations_;
  std::unique_ptr<Log> log_;
  log::EmbeddedLog* embedded_log_ = nullptr;  // log_, where it is one
  std::unique_ptr<Appender> appender_;
  std::unique_ptr<MemoryBudget> memory_;
  std::unique_ptr<processor::Processor> processor_;
  std::unique_ptr<processor::ParameterChangeHandler> parameters_;  // of jobs; with the processor
  RulesInForce rules_in_force_;
  std::unique_ptr<FollowedSilences> followed_silences_;  // with insights
  std::unique_ptr<FollowedRules> followed_rules_;        // insights without a processor
  std::unique_ptr<collector::CaptureTopicBridge> courier_;
  std::unique_ptr<HttpTransport> pods_transport_;  // of the collector
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<HttpTransport> transport_;
  std::unique_ptr<MailTransport> mail_;
  std::unique_ptr<notifier::Notifier> notifier_;
  std::unique_ptr<notifier::CaptureCoordinator> captures_;
  std::unique_ptr<grpc_adapter::IssueServer> grpc_;
  std::unique_ptr<executor::ProcessControl> processes_;
  std::vector<std::unique_ptr<HttpTransport>> stop_transports_;  // of the targets below
  std::unique_ptr<executor::CommandRunner> commands_;            // of a target below
  std::vector<std::unique_ptr<executor::StopTarget>> stop_targets_;
  std::unique_ptr<executor::Executor> executor_;
  std::unique_ptr<history::HistoryService> insights_;
  Status insights_fault_;  // why there is none
  std::unique_ptr<HttpTransport> peer_transport_;
  std::unique_ptr<history::FederatedHistory> fleet_;  // null: one process keeps all
  std::unique_ptr<HttpTransport> remote_transport_;
  std::unique_ptr<history::RemoteWrite> remote_write_;
  std::unique_ptr<http::HttpServer> http_;
  AccessTokens http_tokens_;
  std::unique_ptr<Wakeup> readiness_wakeup_;
  std::atomic<bool> stopping_{false};
  std::thread readiness_thread_;
};

}  // namespace pitwall
