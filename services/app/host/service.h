// One of the services that run in a process.
#pragma once

#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/app/config/config.h"
#include "services/base/status.h"

namespace pitwall {

// Start, Routes, Reload, and Stop are called on one thread; the other functions may be called from
// any thread after Start. The components of a service add their metrics to the exposition that the
// service passes to them, so a service has no metrics of its own.
class Service {
 public:
  virtual ~Service() = default;

  // Returns the name in kStopOrder (service_host.cc).
  virtual std::string_view name() const = 0;
  virtual Status Start(const Config& config) = 0;
  // Idempotent. May also be called if Start failed or was not called.
  virtual void Stop() = 0;

  // Returns OK, or the reason why /healthz reports a failure.
  virtual Status Health() const = 0;
  // Returns OK, or the reason why the process is not ready.
  virtual Status Ready() const { return OkStatus(); }
  // Receives the readiness of the whole process. Called at intervals.
  virtual void SetServing(bool /*serving*/) {}

  // Returns the service's HTTP routes and sets the options of `server` that they need. Called once,
  // after all services have started. The addresses and tokens in `server` are already set.
  virtual StatusOr<std::vector<http::HttpRoute>> Routes(const Config& /*config*/,
                                                        http::HttpServerOptions* /*server*/) {
    return std::vector<http::HttpRoute>();
  }
  // Applies the keys of `fresh` that can change without a restart. If an error is returned, nothing
  // has changed.
  virtual Status Reload(const Config& /*fresh*/) { return OkStatus(); }
};

}  // namespace pitwall
