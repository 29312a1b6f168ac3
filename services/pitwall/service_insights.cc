// The history of all jobs as a service: alone, or beside the others.
#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/pitwall/service_host.h"

namespace pitwall {

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
    insights_->RegisterMetrics(&exposition_);
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

std::vector<http::HttpRoute> ServiceHost::InsightsRoutes() { return {}; }

}  // namespace pitwall
