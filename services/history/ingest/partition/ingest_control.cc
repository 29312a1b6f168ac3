#include "services/history/ingest/partition/ingest_control.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

IngestControl::IngestControl(Clock* clock, int32_t partition)
    : clock_(clock), partition_(partition), wakeup_(clock->NewWakeup()) {}

void IngestControl::RequestStop() {
  stop_ = true;
  wakeup_->Wake();
  MutexLock lock(&mutex_);
  if (polled_ != nullptr) polled_->Interrupt();
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
  wakeup_->Wake();
  item->done->Wait(-1);
  return item->status;
}

Status IngestControl::Health() const {
  MutexLock lock(&mutex_);
  return health_.ok() ? damage_ : health_;
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

Status IngestControl::Poll(PartitionReader* reader, size_t max_records, size_t max_bytes,
                           Duration timeout, std::vector<Record>* records) {
  {
    MutexLock lock(&mutex_);
    if (!work_.empty()) timeout = Duration::Zero();
    polled_ = reader;
  }
  if (stop_) timeout = Duration::Zero();
  Status polled = reader->Poll(max_records, max_bytes, timeout, records);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  return polled;
}

void IngestControl::SetHealth(const Status& status) {
  MutexLock lock(&mutex_);
  if (!status.ok() && status != health_)
    PITWALL_LOG(kError, "insights", "partition ", partition_, ": ", ToStd(status.message()));
  health_ = status;
}

void IngestControl::SetDamage(const Status& damage) {
  MutexLock lock(&mutex_);
  damage_ = damage;
}

}  // namespace pitwall::history
