// pitwall.actions as a reader: what was decided, by this executor or another.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::executor {

// Thread-safe. Everything is borrowed.
class ActionsTopic {
 public:
  ActionsTopic(Clock* clock, Log* log, const ExecutorOptions* options, DecisionIndex* book)
      : clock_(clock),
        log_(log),
        options_(*options),
        topic_(options->actions_topic),
        max_records_(options->max_decisions),
        book_(book) {}

  // Puts into the book what is committed now and was not read before; the first time at most the
  // last `max_decisions` of each partition. On error nobody may act: what was decided is not known.
  // FailedPrecondition, beginning with "log_truncated": the topic is not the one that was read
  // before, by this process or an earlier one of this node.
  Status ReadAll();
  // The same, where decisions on these jobs would stand.
  Status ReadOf(const std::set<std::string>& jobs);
  // Issues that began at or before it (event time) may have been decided in a log that is gone;
  // INT64_MIN: none may.
  int64_t floor_ns() const { return floor_ns_; }
  // Ends what is being read; nothing is read after it.
  void Stop() { stop_ = true; }

 private:
  struct Place {
    int64_t until = kFromStart;
    LogFingerprint mark;
    int64_t stored = -1;
  };

  Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReadPartition(int32_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Read(int32_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  Log* const log_;
  const ExecutorOptions& options_;
  const std::string topic_;
  const size_t max_records_;
  DecisionIndex* const book_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  std::vector<Place> places_ ABSL_GUARDED_BY(mutex_);  // per partition
  std::atomic<int64_t> floor_ns_{INT64_MIN};
};

}  // namespace pitwall::executor
