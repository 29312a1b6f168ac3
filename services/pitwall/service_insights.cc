// The history of all jobs as a service: alone, or beside the others.
#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/pipeline/topics.h"
#include "services/pitwall/service_host.h"

namespace pitwall {
namespace {

// "https://host:port" of "https://host:port/path".
std::string OriginOf(const std::string& url) {
  return url.substr(0, url.find('/', url.find("://") + 3));
}

}  // namespace

Status ServiceHost::StartInsights() {
  insights::KeepOptions options;
  options.dir = config_.InsightsDir();
  options.max_bytes = config_.insights.max_bytes;
  options.retention_ns = config_.insights.retention_ns;
  options.memory_bytes = static_cast<size_t>(config_.insights.memory);
  auto opened = insights::Keep::Open(&clock_, log_.get(), options);
  insights_fault_ = Annotate(opened.status(), "insights");
  if (opened.ok()) {
    insights_ = *std::move(opened);
    insights_fault_ = Annotate(insights_->Start(), "insights");
    if (!insights_fault_.ok()) insights_ = nullptr;
  }
  if (insights_ != nullptr) {
    followed_silences_ = std::make_unique<FollowedSilences>(&clock_, log_.get());
    insights_->RegisterMetrics(&exposition_);
    if (processor_ == nullptr)
      followed_rules_ = std::make_unique<FollowedRules>(&clock_, log_.get());
    return OkStatus();
  }
  // Beside other services it is a failure of its own.
  if (service_ == "insights") return insights_fault_;
  PITWALL_LOG(kError, "insights", "no history is kept: ", ToStd(insights_fault_.message()));
  return OkStatus();
}

Status ServiceHost::InsightsHealth() const {
  return insights_ == nullptr ? insights_fault_ : Annotate(insights_->Health(), "insights");
}

std::vector<http::HttpRoute> ServiceHost::InsightsRoutes(http::HttpServerOptions* server) {
  auto sessions = std::make_shared<http::CookieSessions>(&clock_);
  server->sessions = sessions;
  server->handler_threads = 4;  // a query may take long
  if (!config_.external_url.empty())
    server->allowed_origins.push_back(OriginOf(config_.external_url));
  std::function<engine::CompiledRulesPtr()> rules = [this] { return rules_in_force_.Get(); };
  if (followed_rules_ != nullptr) rules = [this] { return followed_rules_->Get(); };
  return HistoryRoutes(
      {.keep = insights_.get(),
       .clock = &clock_,
       .rules = rules,
       .tokens = server->tokens,
       .sessions = sessions,
       .tls = !server->tls.empty(),
       .external_url = config_.external_url,
       .archive_dir = config_.ArchiveDir(),
       .version = PITWALL_VERSION,
       .captures = captures_.get(),
       .request_action = [this](const ActionEvent& request) -> Status {
         ASSIGN_OR_RETURN(const auto appender, log_->OpenAppender());
         const auto record = [&](std::string_view topic) -> OutgoingRecord {
           return {.topic = std::string(topic),
                   .key = request.job,
                   .value = cloudevents::EncodeCloudEvent(request)};
         };
         RETURN_IF_ERROR(appender->Append({record(kActionsTopic)}));
         // Collectors follow this one.
         if (request.kind != ActionKind::kInterval) return OkStatus();
         return appender->Append({record(kControlTopic)});
       },
       .silenced = [this](const IssueEvent& event) { return followed_silences_->Of(event); }});
}

}  // namespace pitwall
