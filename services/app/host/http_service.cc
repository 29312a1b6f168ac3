#include "services/app/host/http_service.h"

#include <utility>

#include "services/app/host/server_access.h"
#include "services/base/log.h"

namespace pitwall {
namespace {

StatusOr<http::HttpServerOptions> OptionsOf(const HttpConfig& config) {
  http::HttpServerOptions options;
  options.listen = config.listen;
  options.tls = {.certificate_file = config.tls.certificate,
                 .key_file = config.tls.key,
                 .client_ca_file = config.tls.client_ca};
  RETURN_IF_ERROR(WarnWithoutTls("http", config.listen, config.tls));
  ASSIGN_OR_RETURN(options.access.tokens, MakeAccessTokens(config.listen, config.token_file,
                                                           config.act_token_file, "HTTP"));
  options.limits.max_connections = static_cast<size_t>(config.max_connections);
  options.limits.max_connections_per_address =
      static_cast<size_t>(config.max_connections_per_address);
  options.timeouts.header_timeout_ns = config.header_timeout_ns;
  options.timeouts.body_timeout_ns = config.body_timeout_ns;
  options.timeouts.idle_timeout_ns = config.idle_timeout_ns;
  return options;
}

}  // namespace

HttpService::HttpService(std::vector<http::HttpRoute> routes, std::vector<Service*> services,
                         self_metrics::Exposition* exposition)
    : routes_(std::move(routes)), services_(std::move(services)), exposition_(exposition) {}

Status HttpService::Start(const Config& config) {
  ASSIGN_OR_RETURN(http::HttpServerOptions options, OptionsOf(config.http));
  std::vector<http::HttpRoute> routes = routes_;
  for (Service* service : services_) {
    ASSIGN_OR_RETURN(std::vector<http::HttpRoute> more, service->Routes(config, &options));
    for (http::HttpRoute& route : more) routes.push_back(std::move(route));
  }
  ASSIGN_OR_RETURN(server_, http::HttpServer::Start(options, std::move(routes), exposition_));
  PITWALL_LOG(kInfo, "http", config.http.tls.certificate.empty() ? "http" : "https", "://",
              server_->address(), "/metrics, /healthz, /readyz");
  return OkStatus();
}

void HttpService::Stop() {
  if (server_ != nullptr) server_->Stop();
}

}  // namespace pitwall
