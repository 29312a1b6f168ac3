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
#include "services/app/host/service.h"
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

// Runs the services for the given roles in one process. Starts and stops them in dependency order.
// Not thread-safe.
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
  // Stops the services in the order of kStopOrder. Idempotent.
  void Stop();

 private:
  // Fills services_ for the roles of this process.
  void MakeServices();
  // Returns the routes of the process itself: /metrics, /healthz, and /readyz.
  std::vector<http::HttpRoute> OwnRoutes();
  // Return the first error of the log or of a service, in start order.
  Status Health() const;
  Status Ready() const;
  void SetServing(bool serving);
  void WatchReadiness();

  const std::string service_;
  const Roles roles_;
  Config config_;  // not readable by other threads because Reload changes it
  clock::SystemClock clock_;
  self_metrics::Exposition exposition_;
  self_metrics::Probe probe_{&exposition_};  // metrics of the process
  ReloadMetrics reload_metrics_{&exposition_, clock_.WallNs()};
  HostLog log_;
  std::vector<std::unique_ptr<Service>> services_;  // in start order
  bool stopped_ = false;
  Worker readiness_{&clock_, "readiness"};
};

}  // namespace pitwall
