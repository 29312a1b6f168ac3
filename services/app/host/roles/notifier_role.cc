#include "services/app/host/roles/notifier_role.h"

#include "services/adapters/http/client/curl_transport.h"
#include "services/adapters/http/client/standard_webhooks.h"
#include "services/adapters/mail/curl_mail_transport.h"
#include "services/app/config/receiver_config.h"
#include "services/app/host/server_access.h"
#include "services/app/host/silence_routes.h"
#include "services/base/log.h"

namespace pitwall {
namespace {

http::HttpRoute IssueMetricsRoute(const notifier::Notifier* notifier) {
  return {.method = "GET",
          .path = "/metrics/issues",
          .handler =
              [notifier](const http::HttpRequest&) {
                // A failed scrape is better than a response without the open issues.
                if (!notifier->Ready())
                  return http::HttpResponse::Text(503, "notifier: reading the history of issues\n");
                http::HttpResponse response;
                response.content_type = self_metrics::Exposition::kContentType;
                response.body = notifier->RenderIssueMetrics();
                return response;
              },
          .lane = http::Lane::kHealth};
}

}  // namespace

Status NotifierRole::Start(const Config& config) {
  notifier::NotifierOptions options;
  ASSIGN_OR_RETURN(options.receivers, ReceiversOf(config, http::ReadSecret));
  const NotifierConfig& to = config.notifier;
  if (!options.receivers.empty()) {
    ASSIGN_OR_RETURN(transport_, http::MakeCurlTransport({.allow_insecure = to.allow_insecure,
                                                          .allowed_cidrs = to.allowed_cidrs,
                                                          .ca_file = to.ca_file}));
    ASSIGN_OR_RETURN(mail_, mail::MakeCurlMailTransport({.allow_insecure = to.allow_insecure,
                                                         .allowed_cidrs = to.allowed_cidrs,
                                                         .ca_file = to.ca_file}));
  }
  ASSIGN_OR_RETURN(notifier_, notifier::Notifier::Make(
                                  clock_, log_, {.http = transport_.get(), .mail = mail_.get()},
                                  options, exposition_));
  RETURN_IF_ERROR(notifier_->Start());
  RETURN_IF_ERROR(captures_.Start(notifier_.get()));
  return StartGrpc(config);
}

Status NotifierRole::StartGrpc(const Config& config) {
  grpc_adapter::IssueServerOptions server;
  server.listen = config.grpc.listen;
  server.captures = &captures_;
  server.tls = {.certificate_file = config.grpc.tls.certificate,
                .key_file = config.grpc.tls.key,
                .client_ca_file = config.grpc.tls.client_ca};
  RETURN_IF_ERROR(WarnWithoutTls("grpc", config.grpc.listen, config.grpc.tls));
  ASSIGN_OR_RETURN(server.tokens, MakeAccessTokens(config.grpc.listen, config.grpc.token_file,
                                                   config.grpc.act_token_file, "gRPC"));
  server.max_watches = static_cast<size_t>(config.grpc.max_watches);
  server.max_watches_per_address = static_cast<size_t>(config.grpc.max_watches_per_address);
  server.handshake_timeout_ns = config.grpc.handshake_timeout_ns;
  server.idle_timeout_ns = config.grpc.idle_timeout_ns;
  ASSIGN_OR_RETURN(grpc_, grpc_adapter::IssueServer::Start(clock_, notifier_.get(), server));
  PITWALL_LOG(kInfo, "grpc", "serving IssueService on ", config.grpc.listen, ", port ",
              grpc_->port());
  return OkStatus();
}

Status NotifierRole::Ready() const {
  return notifier_->Ready() ? OkStatus() : Unavailable("notifier: still loading the issue history");
}

StatusOr<std::vector<http::HttpRoute>> NotifierRole::Routes(const Config& /*config*/,
                                                            http::HttpServerOptions* /*server*/) {
  std::vector<http::HttpRoute> routes = SilenceRoutes(notifier_->Silences());
  routes.push_back(IssueMetricsRoute(notifier_.get()));
  return routes;
}

void NotifierRole::SetServing(bool serving) {
  if (grpc_ != nullptr) grpc_->SetServing(serving);
}

void NotifierRole::Stop() {
  captures_.Stop();
  if (notifier_ != nullptr) notifier_->Stop();
  if (grpc_ != nullptr) grpc_->Stop();
}

}  // namespace pitwall
