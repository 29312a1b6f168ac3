// Reader for pitwall.actions, which contains the decisions of this executor and all others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
#include "services/io/topic_follower.h"

namespace pitwall::executor {

// Thread-safe. All pointers are borrowed.
class ActionsTopic {
 public:
  ActionsTopic(Clock* clock, Log* log, const ExecutorOptions* options, DecisionIndex* index)
      : clock_(clock),
        log_(log),
        options_(*options),
        topic_(options->actions_topic),
        max_records_(options->max_decisions),
        index_(index) {}

  // Reads the committed records that have not been read yet, and adds them to the index. The first
  // call reads at most the last `max_decisions` records of each partition. After an error, no
  // thread may act, because decisions may be missing. Returns FailedPrecondition with a message
  // that starts with "log_truncated" if this process, or an earlier process on this node,
  // previously read a different topic.
  Status ReadAll();
  // Reads only the partitions that may contain decisions about these jobs.
  Status ReadOf(const std::set<std::string>& jobs);
  // Returns the event time up to which issues may have been decided in a lost log. Issues that
  // started at or before this time are affected. Returns INT64_MIN if no log was lost.
  int64_t floor_ns() const { return floor_ns_; }
  // Permanently stops reading. May be called from another thread.
  void Stop() { stop_ = true; }

 private:
  struct Partition {
    std::unique_ptr<TopicFollower> follower;
    int64_t stored = -1;  // newest stored position, or -1
  };

  Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Read(Partition* partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StorePosition(Partition* partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddDecision(const TopicPartition& at, const Record& record);

  Clock* const clock_;
  Log* const log_;
  const ExecutorOptions& options_;
  const std::string topic_;
  const size_t max_records_;
  DecisionIndex* const index_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  std::vector<Partition> partitions_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> floor_ns_{INT64_MIN};
};

}  // namespace pitwall::executor
