#include "services/app/host/service_host.h"

#include <utility>

#include "services/app/host/descriptor_limit.h"
#include "services/app/host/private_directory.h"
#include "services/app/host/server_access.h"
#include "services/app/host/silence_routes.h"
#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/self_metrics/process.h"

namespace pitwall {
namespace {

http::HttpResponse ResponseOf(const Status& status) {
  return status.ok() ? http::HttpResponse::Text(200, "ok\n")
                     : http::HttpResponse::Text(503, Cat(ToStd(status.message()), "\n"));
}

http::HttpRoute IssueMetricsRoute(notifier::Notifier* notifier) {
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

ServiceHost::ServiceHost(std::string service, const Roles& roles, Config config)
    : service_(std::move(service)), roles_(roles), config_(std::move(config)) {
  self_metrics::AddProcessMetrics(&probe_);
  self_metrics::AddBuildInfo(PITWALL_VERSION, service_, &probe_);
}

ServiceHost::~ServiceHost() { Stop(); }

Status ServiceHost::Start() {
  RETURN_IF_ERROR(CheckConfig(config_));
  RETURN_IF_ERROR(RaiseDescriptorLimit());
  // A separate insights process may serve the log of a stopped `pitwall standalone`. The log's lock
  // prevents two processes from opening it.
  if (config_.log.kind == "embedded" && service_ != "standalone" && service_ != "insights") {
    return InvalidArgument(Cat("log.kind: embedded supports only one process (got service ",
                               service_, "); set log.kind to kafka, or run pitwall standalone"));
  }
  RETURN_IF_ERROR(MakePrivateDirectory(config_.data_dir));
  RETURN_IF_ERROR(log_.Open(config_, service_, &clock_, &exposition_));
  if (roles_.processor || roles_.notifier || roles_.executor || roles_.insights) {
    processor::ProcessorOptions topics = ProcessorOptionsOf(config_, nullptr);
    // A process that only reads the log must not delete any records, even if they are older than
    // the retention time.
    if (service_ == "insights" && config_.log.kind == "embedded")
      topics.telemetry_retention_ms = -1;
    RETURN_IF_ERROR(processor::EnsureTopics(log_.get(), topics));
  }
  RETURN_IF_ERROR(StartRoles());
  RETURN_IF_ERROR(StartHttp());
  readiness_.Start([this] { WatchReadiness(); });
  return OkStatus();
}

Status ServiceHost::StartRoles() {
  if (roles_.processor) {
    processor_ = std::make_unique<ProcessorRole>(&clock_, log_.get(), &exposition_);
    RETURN_IF_ERROR(processor_->Start(config_));
  }
  if (roles_.notifier) {
    notifier_ = std::make_unique<NotifierRole>(&clock_, log_.get(), &exposition_);
    RETURN_IF_ERROR(notifier_->Start(config_));
  }
  if (roles_.executor) {
    executor_ = std::make_unique<ExecutorRole>(&clock_, log_.get(), &exposition_);
    RETURN_IF_ERROR(executor_->Start(config_));
  }
  if (roles_.insights) {
    insights_ = std::make_unique<InsightsRole>(
        &clock_, log_.get(), &exposition_, service_ == "insights",
        processor_ != nullptr ? &processor_->rules_in_force() : nullptr);
    RETURN_IF_ERROR(insights_->Start(config_));
  }
  if (roles_.collector) {
    collector_ = std::make_unique<CollectorRole>(&clock_, log_.get(), &exposition_);
    RETURN_IF_ERROR(collector_->Start(config_));
  }
  return OkStatus();
}

Status ServiceHost::Reload(const Config& fresh) {
  RETURN_IF_ERROR(CheckConfig(fresh));
  if (processor_ != nullptr) RETURN_IF_ERROR(processor_->ReloadRules(fresh.rules));
  const int64_t interval_ns = fresh.collector.interval_ns;
  if (collector_ != nullptr && interval_ns != config_.collector.interval_ns) {
    RETURN_IF_ERROR(collector_->SetInterval(interval_ns));
    PITWALL_LOG(kInfo, "reload",
                "collector.interval: ", FormatDuration(config_.collector.interval_ns), " -> ",
                FormatDuration(interval_ns));
  }
  config_.rules = fresh.rules;
  config_.collector.interval_ns = interval_ns;
  if (PrintConfig(config_) != PrintConfig(fresh)) {
    PITWALL_LOG(
        kWarning, "reload",
        "only rules and collector.interval can change on reload; restart the service to apply "
        "other changes");
  }
  return OkStatus();
}

void ServiceHost::WatchReadiness() {
  bool was_ready = false;
  while (!readiness_.stopping()) {
    const bool ready = Ready().ok();
    if (notifier_ != nullptr) notifier_->SetServing(ready);
    if (ready && !was_ready) PITWALL_LOG(kInfo, service_, "ready");
    was_ready = ready;
    readiness_.Wait((ready ? 1000 : 50) * kNanosPerMilli);
  }
}

std::vector<http::HttpRoute> ServiceHost::HealthRoutes() {
  std::vector<http::HttpRoute> routes;
  routes.push_back({.method = "GET",
                    .path = "/metrics",
                    .handler =
                        [this](const http::HttpRequest&) {
                          http::HttpResponse response;
                          response.content_type = self_metrics::Exposition::kContentType;
                          response.body = exposition_.Render();
                          return response;
                        },
                    .open = true,
                    .lane = http::Lane::kHealth});
  routes.push_back({.method = "GET",
                    .path = "/healthz",
                    .handler = [this](const http::HttpRequest&) { return ResponseOf(Health()); },
                    .open = true,
                    .lane = http::Lane::kHealth});
  routes.push_back({.method = "GET",
                    .path = "/readyz",
                    .handler = [this](const http::HttpRequest&) { return ResponseOf(Ready()); },
                    .open = true,
                    .lane = http::Lane::kHealth});
  return routes;
}

Status ServiceHost::StartHttp() {
  std::vector<http::HttpRoute> routes = HealthRoutes();
  if (notifier_ != nullptr) {
    notifier::Notifier* const notifier = &notifier_->notifier();
    routes.push_back(IssueMetricsRoute(notifier));
    for (http::HttpRoute& route : SilenceRoutes(notifier->Silences()))
      routes.push_back(std::move(route));
  }
  http::HttpServerOptions options;
  options.listen = config_.http.listen;
  options.tls = {.certificate_file = config_.http.tls.certificate,
                 .key_file = config_.http.tls.key,
                 .client_ca_file = config_.http.tls.client_ca};
  RETURN_IF_ERROR(WarnWithoutTls("http", config_.http.listen, config_.http.tls));
  ASSIGN_OR_RETURN(options.access.tokens,
                   MakeAccessTokens(config_.http.listen, config_.http.token_file,
                                    config_.http.act_token_file, "HTTP"));
  options.limits.max_connections = static_cast<size_t>(config_.http.max_connections);
  options.limits.max_connections_per_address =
      static_cast<size_t>(config_.http.max_connections_per_address);
  options.timeouts.header_timeout_ns = config_.http.header_timeout_ns;
  options.timeouts.body_timeout_ns = config_.http.body_timeout_ns;
  options.timeouts.idle_timeout_ns = config_.http.idle_timeout_ns;
  if (insights_ != nullptr) {
    CaptureSource* const captures = notifier_ != nullptr ? notifier_->captures() : nullptr;
    ASSIGN_OR_RETURN(std::vector<http::HttpRoute> served,
                     insights_->Serve(config_, captures, &options));
    for (http::HttpRoute& route : served) routes.push_back(std::move(route));
  }
  ASSIGN_OR_RETURN(http_, http::HttpServer::Start(options, std::move(routes), &exposition_));
  PITWALL_LOG(kInfo, "http", config_.http.tls.certificate.empty() ? "http" : "https", "://",
              http_->address(), "/metrics, /healthz, /readyz");
  return OkStatus();
}

void ServiceHost::ReportReload(bool successful) {
  reload_metrics_.Report(successful, clock_.WallNs());
}

void ServiceHost::Stop() {
  if (std::exchange(stopped_, true)) return;
  readiness_.Stop();
  if (notifier_ != nullptr) notifier_->SetServing(false);
  if (collector_ != nullptr) collector_->Stop();
  if (processor_ != nullptr) processor_->Stop();
  if (executor_ != nullptr) executor_->Stop();
  if (http_ != nullptr) http_->Stop();
  if (insights_ != nullptr) insights_->Stop();
  if (notifier_ != nullptr) notifier_->Stop();
}

}  // namespace pitwall
