// Health of one worker, as seen by other threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/log_reset_notice.h"

namespace pitwall::executor {

// Thread-safe. Times are monotonic, in nanoseconds.
class WorkerHealth {
 public:
  // Sets the result of the last step, or the reason why the worker is paused.
  void Set(const Status& status) {
    MutexLock lock(&mutex_);
    status_ = status;
  }
  // Reports for a limited time that the issue log was replaced.
  void NoteReset(std::string text, int64_t now_ns) {
    MutexLock lock(&mutex_);
    notice_.Set(std::move(text), MonotonicTime::FromNs(now_ns));
  }
  // Returns the error of the last step. If the step succeeded, returns the notice about a replaced
  // log until the notice expires.
  Status Read(int64_t now_ns) const {
    MutexLock lock(&mutex_);
    return status_.ok() ? notice_.Read(MonotonicTime::FromNs(now_ns)) : status_;
  }

 private:
  mutable Mutex mutex_;
  Status status_ ABSL_GUARDED_BY(mutex_);
  LogResetNotice notice_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::executor
