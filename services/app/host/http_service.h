// HTTP server of the process, with the routes of all services.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/app/host/service.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Must start after the other services and stop before the services whose routes it serves.
class HttpService final : public Service {
 public:
  // `routes` are the routes of the process itself. The services and the exposition are borrowed.
  HttpService(std::vector<http::HttpRoute> routes, std::vector<Service*> services,
              self_metrics::Exposition* exposition);

  std::string_view name() const override { return "http"; }
  Status Start(const Config& config) override;
  void Stop() override;
  Status Health() const override { return OkStatus(); }

 private:
  const std::vector<http::HttpRoute> routes_;
  const std::vector<Service*> services_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace pitwall
