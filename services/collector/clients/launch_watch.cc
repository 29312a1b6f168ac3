#include "services/collector/clients/launch_watch.h"

#include <algorithm>
#include <utility>

namespace pitwall::collector {
namespace {
// Nobody waits longer for a restart than the engine does.
constexpr int64_t kForgetAfterNs = 600 * kNanosPerSecond;
}  // namespace

void LaunchWatch::Started(const std::string& job, const WatchedProcess& process, bool alone) {
  if (process.self.pid <= 0) return;
  Launch& launch = launches_[job];
  launch.speaker.reset();
  if (alone) {
    launch.started_all = process.ancestors;
    return;
  }
  std::erase_if(launch.started_all, [&](const ProcessKey& key) {
    return std::find(process.ancestors.begin(), process.ancestors.end(), key) ==
           process.ancestors.end();
  });
}

void LaunchWatch::Lost(std::unique_ptr<RankSource> source) {
  Launch& launch = launches_[source->identity().job];
  launch.speaker = std::move(source);
  launch.lost_at_ns = clock_.MonotonicNs();
}

void LaunchWatch::Patrol(const absl::btree_set<std::string>& here, int64_t now_ns) {
  absl::erase_if(launches_, [&](auto& entry) {
    Launch& launch = entry.second;
    if (here.contains(entry.first)) return false;
    if (launch.speaker == nullptr || launch.started_all.empty()) return true;
    if (!processes_.Runs(launch.started_all.front())) {
      launch.speaker->LauncherGone(now_ns);
      return true;
    }
    return clock_.MonotonicNs() - launch.lost_at_ns > kForgetAfterNs;
  });
}

}  // namespace pitwall::collector
