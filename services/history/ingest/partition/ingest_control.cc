#include "services/history/ingest/partition/ingest_control.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

IngestControl::IngestControl(Clock* clock, int32_t partition)
    : clock_(clock), partition_(partition), worker_(clock, "ingest", partition) {
  worker_.OnStop([this] {
    MutexLock lock(&mutex_);
    if (polled_ != nullptr) polled_->Interrupt();
  });
}

Status IngestControl::Do(std::function<Status()> work) {
  auto item = std::make_shared<Work>();
  item->run = std::move(work);
  item->done = clock_->NewWakeup();
  {
    MutexLock lock(&mutex_);
    if (!running_) return Unavailable("the history is not running");
    work_.push_back(item);
    if (polled_ != nullptr) polled_->Interrupt();
  }
  worker_.Wake();
  item->done->Wait(-1);
  return item->status;
}

Status IngestControl::Health() const {
  Status health = worker_.Health();
  if (!health.ok()) return health;
  MutexLock lock(&mutex_);
  return damage_;
}

void IngestControl::Begin() {
  MutexLock lock(&mutex_);
  running_ = true;
}

void IngestControl::RunWork() {
  while (true) {
    std::shared_ptr<Work> item;
    {
      MutexLock lock(&mutex_);
      if (work_.empty()) return;
      item = work_.front();
      work_.pop_front();
    }
    item->status = item->run();
    item->done->Wake();
  }
}

void IngestControl::End() {
  {
    MutexLock lock(&mutex_);
    running_ = false;
  }
  RunWork();
}

Status IngestControl::Poll(TopicFollower* follower, Duration timeout, FollowedRecords* read) {
  {
    MutexLock lock(&mutex_);
    if (!work_.empty()) timeout = Duration::Zero();
    polled_ = follower;
  }
  if (stopping()) timeout = Duration::Zero();
  Status polled = follower->Poll(timeout, read);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  return polled;
}

void IngestControl::SetHealth(const Status& status) {
  if (!status.ok() && status != worker_.Health())
    PITWALL_LOG(kError, "insights", "partition ", partition_, ": ", ToStd(status.message()));
  worker_.SetHealth(status);
}

void IngestControl::SetDamage(const Status& damage) {
  MutexLock lock(&mutex_);
  damage_ = damage;
}

}  // namespace pitwall::history
