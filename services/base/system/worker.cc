#include "services/base/system/worker.h"

#include <pthread.h>

#include <utility>

#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall {

namespace {
constexpr size_t kMaxNameLength = 15;  // limit of Linux, without the final zero
}  // namespace

Worker::Worker(Clock* clock, std::string_view name)
    : name_(name), wakeup_(clock == nullptr ? nullptr : clock->NewWakeup()) {
  PITWALL_CHECK(!name.empty() && name.size() <= kMaxNameLength);
}

Worker::Worker(Clock* clock, std::string_view prefix, int32_t number)
    : Worker(clock, Cat(prefix, "-", number).substr(0, kMaxNameLength)) {}

void Worker::Start(std::function<void()> run) {
  if (thread_.joinable()) return;
  stop_ = false;
  thread_ = std::thread([this, run = std::move(run)] {
    pthread_setname_np(pthread_self(), name_.c_str());
    run();
  });
}

void Worker::RequestStop() {
  stop_ = true;
  if (wakeup_ != nullptr) wakeup_->Wake();
  if (interrupt_) interrupt_();
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  RequestStop();
  thread_.join();
  if (wakeup_ != nullptr) wakeup_->Wait(0);  // consumes the wake-up of RequestStop
}

bool Worker::Wait(int64_t timeout_ns) {
  if (!stop_) wakeup_->Wait(timeout_ns);
  return !stop_;
}

void Worker::SetHealth(Status health) {
  MutexLock lock(&mutex_);
  health_ = std::move(health);
}

Status Worker::Health() const {
  MutexLock lock(&mutex_);
  return health_;
}

}  // namespace pitwall
