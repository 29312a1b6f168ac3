// Thread of a partition, and its link to other threads: work, stop requests, and health.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/base/time.h"
#include "services/io/topic_follower.h"

namespace pitwall::history {

// Control for one ingestion thread. RequestStop, Do, and Health may be called from any thread.
// Begin, Start, and Stop must be called from one thread in this order, and the other functions only
// on the ingestion thread.
class IngestControl {
 public:
  IngestControl(Clock* clock, int32_t partition);

  // Requests that the thread stop reading.
  void RequestStop() { worker_.RequestStop(); }
  // Runs `work` on the partition's thread and waits for it. Returns Unavailable if the thread is
  // not running.
  Status Do(std::function<Status()> work);
  // Returns the error from the last step. If the step succeeded, returns any segment damage.
  Status Health() const;

  // Accepts work.
  void Begin();
  // Runs `loop` on the ingestion thread.
  void Start(std::function<void()> loop) { worker_.Start(std::move(loop)); }
  // Requests the stop and waits for the thread.
  void Stop() { worker_.Stop(); }
  // Runs the accepted work.
  void RunWork();
  // Rejects further work and runs the accepted work.
  void End();
  bool stopping() const { return worker_.stopping(); }
  // Waits for up to `timeout_ns`, or until work or a stop request arrives.
  void Wait(int64_t timeout_ns) { worker_.Wait(timeout_ns); }
  // Polls records. Does not wait for records if work or a stop request is pending.
  Status Poll(TopicFollower* follower, Duration timeout, FollowedRecords* read);
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

  mutable Mutex mutex_;
  Status damage_ ABSL_GUARDED_BY(mutex_);  // damage of a segment; cleared by a restart
  std::deque<std::shared_ptr<Work>> work_ ABSL_GUARDED_BY(mutex_);
  TopicFollower* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;

  Worker worker_;
};

}  // namespace pitwall::history
