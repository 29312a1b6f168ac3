// Watcher for the launchers of this node's ranks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/collector/processes/process_watch.h"
#include "services/collector/ranks/rank_source.h"

namespace pitwall::collector {

// Tracks the launcher of each job, which is the nearest common ancestor of the job's ranks on this
// node. For a single rank, the launcher is its parent. For several ranks, it is typically torchrun,
// even if there is a shell between torchrun and each rank. If process 1 is the only common
// ancestor, the job has no launcher. Not thread-safe.
class LaunchWatch {
 public:
  // The caller owns the arguments.
  LaunchWatch(const ProcessWatch* processes, const Clock& clock)
      : processes_(*processes), clock_(clock) {}

  // Adds a rank of the job. `alone` means that no other rank of the job runs here.
  void Started(const std::string& job, const WatchedProcess& process, bool alone);
  // Keeps a lost rank, which reports the launcher's exit if the launcher exits too.
  void Lost(std::unique_ptr<RankSource> source);
  // Reports launchers that exited after their ranks. `here` contains the jobs that have ranks on
  // this node; `now_ns` is an event time.
  void Patrol(const std::set<std::string, std::less<>>& here, int64_t now_ns);

 private:
  struct Launch {
    std::vector<ProcessKey> started_all;  // common ancestors, nearest first
    std::unique_ptr<RankSource>
        reporter;            // rank that reports the launcher's end; null if no rank was lost
    int64_t lost_at_ns = 0;  // monotonic
  };

  const ProcessWatch& processes_;
  const Clock& clock_;
  std::map<std::string, Launch, std::less<>> launches_;  // by job
};

}  // namespace pitwall::collector
