// Responses for /healthz and /readyz, which report the state of the log and all services.
#include "services/app/host/service_host.h"

namespace pitwall {

Status ServiceHost::Health() const {
  RETURN_IF_ERROR(log_.Health());
  if (notifier_ != nullptr) RETURN_IF_ERROR(notifier_->notifier().Health());
  if (executor_ != nullptr) RETURN_IF_ERROR(executor_->Health());
  if (processor_ != nullptr) RETURN_IF_ERROR(processor_->Health());
  if (collector_ != nullptr) RETURN_IF_ERROR(collector_->Health());
  return insights_ != nullptr ? insights_->Health() : OkStatus();
}

Status ServiceHost::Ready() const {
  if (processor_ != nullptr) RETURN_IF_ERROR(processor_->Ready());
  if (notifier_ != nullptr && !notifier_->notifier().Ready())
    return Unavailable("notifier: still loading the issue history");
  if (executor_ != nullptr && !executor_->IsReady())
    return Unavailable("executor: still reading earlier decisions");
  // Insights affects readiness only if no other service runs in the process.
  if (insights_ != nullptr && service_ == "insights") return insights_->Ready();
  return OkStatus();
}

}  // namespace pitwall
