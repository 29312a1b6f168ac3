// Launchers of the ranks of each job on this node, and whether they still run.
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

// The launcher of a job on this node is the nearest process that started all its ranks: the parent
// of a single one, torchrun of several, also where each has a shell of its own between. Where they
// have none in common but process 1, there is no launcher to wait for. Not thread-safe.
class LaunchWatch {
 public:
  // Borrowed.
  LaunchWatch(const ProcessWatch* processes, const Clock& clock)
      : processes_(*processes), clock_(clock) {}

  // A rank of the job runs here; `alone`: no other does.
  void Started(const std::string& job, const WatchedProcess& process, bool alone);
  // The rank was lost. It tells the end of the launcher, should that come.
  void Lost(std::unique_ptr<RankSource> source);
  // `here`: the jobs that have ranks here. Says at `now_ns` (event time) whose launcher is gone
  // after its ranks.
  void Patrol(const std::set<std::string, std::less<>>& here, int64_t now_ns);

 private:
  struct Launch {
    std::vector<ProcessKey> started_all;  // nearest first
    std::unique_ptr<RankSource> speaker;  // null: none was lost
    int64_t lost_at_ns = 0;               // monotonic
  };

  const ProcessWatch& processes_;
  const Clock& clock_;
  std::map<std::string, Launch, std::less<>> launches_;  // by job
};

}  // namespace pitwall::collector
