#include "services/app/host/service_host.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "services/app/host/descriptor_limit.h"
#include "services/app/host/http_service.h"
#include "services/app/host/private_directory.h"
#include "services/app/host/roles/collector_role.h"
#include "services/app/host/roles/executor_role.h"
#include "services/app/host/roles/insights_role.h"
#include "services/app/host/roles/notifier_role.h"
#include "services/app/host/roles/processor_role.h"
#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/self_metrics/process.h"

namespace pitwall {
namespace {

// Order in which the services stop. The collector stops first, so that its sources send their
// goodbyes while the other services run. The processor and the executor commit their last records
// before the servers stop. The HTTP server stops before the services whose routes it serves, so
// that no handler uses a stopped service.
constexpr std::array<std::string_view, 6> kStopOrder = {"collector", "processor", "executor",
                                                        "http",      "insights",  "notifier"};

http::HttpResponse ResponseOf(const Status& status) {
  return status.ok() ? http::HttpResponse::Text(200, "ok\n")
                     : http::HttpResponse::Text(503, Cat(ToStd(status.message()), "\n"));
}

// Returns a route that requires no token.
http::HttpRoute OpenRoute(std::string path, http::HttpHandler handler) {
  return {.method = "GET",
          .path = std::move(path),
          .handler = std::move(handler),
          .open = true,
          .lane = http::Lane::kHealth};
}

}  // namespace

ServiceHost::ServiceHost(std::string service, const Roles& roles, Config config)
    : service_(std::move(service)), roles_(roles), config_(std::move(config)) {
  self_metrics::AddProcessMetrics(&probe_);
  self_metrics::AddBuildInfo(PITWALL_VERSION, service_, &probe_);
}

ServiceHost::~ServiceHost() {
  Stop();
  // A service may refer to services that precede it.
  while (!services_.empty()) services_.pop_back();
}

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
  MakeServices();
  for (const auto& service : services_) {
    if (Status started = service->Start(config_); !started.ok()) {
      Stop();
      return started;
    }
  }
  readiness_.Start([this] { WatchReadiness(); });
  return OkStatus();
}

void ServiceHost::MakeServices() {
  const RulesInForce* rules = nullptr;
  CaptureSource* captures = nullptr;
  if (roles_.processor) {
    auto processor = std::make_unique<ProcessorRole>(&clock_, log_.get(), &exposition_);
    rules = &processor->rules_in_force();
    services_.push_back(std::move(processor));
  }
  if (roles_.notifier) {
    auto notifier = std::make_unique<NotifierRole>(&clock_, log_.get(), &exposition_);
    captures = notifier->captures();
    services_.push_back(std::move(notifier));
  }
  if (roles_.executor)
    services_.push_back(std::make_unique<ExecutorRole>(&clock_, log_.get(), &exposition_));
  if (roles_.insights) {
    services_.push_back(std::make_unique<InsightsRole>(&clock_, log_.get(), &exposition_,
                                                       service_ == "insights", rules, captures));
  }
  if (roles_.collector)
    services_.push_back(std::make_unique<CollectorRole>(&clock_, log_.get(), &exposition_));
  std::vector<Service*> served;
  for (const auto& service : services_) served.push_back(service.get());
  services_.push_back(std::make_unique<HttpService>(OwnRoutes(), std::move(served), &exposition_));
  for (const auto& service : services_)
    PITWALL_CHECK(std::ranges::find(kStopOrder, service->name()) != kStopOrder.end());
}

Status ServiceHost::Reload(const Config& fresh) {
  RETURN_IF_ERROR(CheckConfig(fresh));
  for (const auto& service : services_) RETURN_IF_ERROR(service->Reload(fresh));
  config_.rules = fresh.rules;
  config_.collector.interval_ns = fresh.collector.interval_ns;
  if (PrintConfig(config_) != PrintConfig(fresh)) {
    PITWALL_LOG(
        kWarning, "reload",
        "only rules and collector.interval can change on reload; restart the service to apply "
        "other changes");
  }
  return OkStatus();
}

void ServiceHost::ReportReload(bool successful) {
  reload_metrics_.Report(successful, clock_.WallNs());
}

void ServiceHost::Stop() {
  if (std::exchange(stopped_, true)) return;
  readiness_.Stop();
  SetServing(false);
  for (const std::string_view name : kStopOrder) {
    for (const auto& service : services_) {
      if (service->name() == name) service->Stop();
    }
  }
}

Status ServiceHost::Health() const {
  RETURN_IF_ERROR(log_.Health());
  for (const auto& service : services_) RETURN_IF_ERROR(service->Health());
  return OkStatus();
}

Status ServiceHost::Ready() const {
  for (const auto& service : services_) RETURN_IF_ERROR(service->Ready());
  return OkStatus();
}

void ServiceHost::SetServing(bool serving) {
  for (const auto& service : services_) service->SetServing(serving);
}

void ServiceHost::WatchReadiness() {
  bool was_ready = false;
  while (!readiness_.stopping()) {
    const bool ready = Ready().ok();
    SetServing(ready);
    if (ready && !was_ready) PITWALL_LOG(kInfo, service_, "ready");
    was_ready = ready;
    readiness_.Wait((ready ? 1000 : 50) * kNanosPerMilli);
  }
}

std::vector<http::HttpRoute> ServiceHost::OwnRoutes() {
  return {OpenRoute("/metrics",
                    [this](const http::HttpRequest&) {
                      http::HttpResponse response;
                      response.content_type = self_metrics::Exposition::kContentType;
                      response.body = exposition_.Render();
                      return response;
                    }),
          OpenRoute("/healthz", [this](const http::HttpRequest&) { return ResponseOf(Health()); }),
          OpenRoute("/readyz", [this](const http::HttpRequest&) { return ResponseOf(Ready()); })};
}

}  // namespace pitwall
