// Partition state that the partition thread shares with other threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/processor/partition/partition_stats.h"
#include "services/processor/running_jobs.h"

namespace pitwall::processor {

using WatchedJobs = std::map<std::string, WatchedJob, std::less<>>;

// Requests from other threads, and the state as of the last commit, which those threads can read.
// Thread-safe.
class SharedState {
 public:
  void WantRules(std::string hash);
  // Returns the desired rule set, or "".
  std::string wanted_rules() const;
  void Watch(std::vector<std::string> jobs);
  std::vector<std::string> watch() const;

  // Replaces the statistics and the states of the watched jobs together.
  void Publish(PartitionStats stats, WatchedJobs watched);
  PartitionStats stats() const;
  std::optional<WatchedJob> Watched(const std::string& job) const;

 private:
  mutable Mutex mutex_;
  std::string wanted_rules_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> watch_ ABSL_GUARDED_BY(mutex_);
  WatchedJobs watched_ ABSL_GUARDED_BY(mutex_);
  PartitionStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
