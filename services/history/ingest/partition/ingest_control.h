// Link between a partition's thread and other threads: work, stop requests, and health.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::history {

// Control for one ingestion thread. RequestStop, Do, and Health may be called from any thread.
// Begin must be called before the thread starts, and the other functions only on the thread.
class IngestControl {
 public:
  IngestControl(Clock* clock, int32_t partition);

  // Requests that the thread stop reading.
  void RequestStop();
  // Runs `work` on the partition's thread and waits for it. Returns Unavailable if the thread is
  // not running.
  Status Do(std::function<Status()> work);
  // Returns the error from the last step. If the step succeeded, returns any segment damage.
  Status Health() const;

  // Accepts work.
  void Begin();
  // Runs the accepted work.
  void RunWork();
  // Rejects further work and runs the accepted work.
  void End();
  bool stopping() const { return stop_; }
  // Waits for up to `timeout_ns`, or until work or a stop request arrives.
  void Wait(int64_t timeout_ns) { wakeup_->Wait(timeout_ns); }
  // Polls records. Does not wait for records if work or a stop request is pending.
  Status Poll(PartitionReader* reader, size_t max_records, size_t max_bytes, Duration timeout,
              std::vector<Record>* records);
  void SetHealth(const Status& status);
  void SetDamage(const Status& damage);

 private:
  struct Work {
    std::function<Status()> run;
    Status status;
    std::unique_ptr<Wakeup> done;
  };

  Clock* const clock_;
  const int32_t partition_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stop_{false};

  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  Status damage_ ABSL_GUARDED_BY(mutex_);  // damage of a segment; cleared by a restart
  std::deque<std::shared_ptr<Work>> work_ ABSL_GUARDED_BY(mutex_);
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::history
