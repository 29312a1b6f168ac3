// Composition root. Only this folder connects the modules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/http/http_server.h"
#include "services/app/config/config.h"
#include "services/app/host/host_log.h"
#include "services/app/host/reload_metrics.h"
#include "services/app/host/roles/collector_role.h"
#include "services/app/host/roles/executor_role.h"
#include "services/app/host/roles/insights_role.h"
#include "services/app/host/roles/notifier_role.h"
#include "services/app/host/roles/processor_role.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/probe.h"

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
  // Records the result of a reload in the metrics. Also called if the Config could not be loaded.
  // Thread-safe.
  void ReportReload(bool successful);
  // Stops the collector first so that its sources send their goodbyes, and then stops the services
  // that read the log. Idempotent.
  void Stop();

 private:
  Status StartRoles();
  Status StartHttp();
  std::vector<http::HttpRoute> HealthRoutes();
  Status Health() const;
  Status Ready() const;
  void WatchReadiness();

  const std::string service_;
  const Roles roles_;
  Config config_;  // not readable by other threads because Reload changes it
  clock::SystemClock clock_;
  self_metrics::Exposition exposition_;
  self_metrics::Probe probe_{&exposition_};  // metrics of the process
  ReloadMetrics reload_metrics_{&exposition_, clock_.WallNs()};
  HostLog log_;
  // The following members are set only if this process has the role.
  std::unique_ptr<ProcessorRole> processor_;
  std::unique_ptr<CollectorRole> collector_;
  std::unique_ptr<NotifierRole> notifier_;
  std::unique_ptr<ExecutorRole> executor_;
  std::unique_ptr<InsightsRole> insights_;
  std::unique_ptr<http::HttpServer> http_;
  bool stopped_ = false;
  Worker readiness_{&clock_, "readiness"};
};

}  // namespace pitwall
