#include "services/collector/lifecycle.h"

namespace pitwall::collector {

Status Lifecycle::Start(const std::function<Status()>& start) {
  MutexLock lock(&mutex_);
  if (started_) return FailedPrecondition("the collector has already been started");
  RETURN_IF_ERROR(start());
  started_ = true;
  return OkStatus();
}

void Lifecycle::Stop(const std::function<void()>& stop) {
  {
    MutexLock lock(&mutex_);
    if (!started_ || stopped_) return;
    stopped_ = true;
    stop();
  }
  finished_->Wake();
}

}  // namespace pitwall::collector
