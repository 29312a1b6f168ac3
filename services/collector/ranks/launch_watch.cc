#include "services/collector/ranks/launch_watch.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace pitwall::collector {
namespace {
// Equals the engine's maximum wait for a restart.
constexpr int64_t kForgetAfterNs = 600 * kNanosPerSecond;
}  // namespace

void LaunchWatch::Started(const std::string& job, const WatchedProcess& process, bool alone) {
  if (process.self.pid <= 0) return;
  Launch& launch = launches_[job];
  launch.reporter.reset();
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
  launch.reporter = std::move(source);
  launch.lost_at_ns = clock_.MonotonicNs();
}

void LaunchWatch::Patrol(const std::set<std::string, std::less<>>& here, int64_t now_ns) {
  const auto is_over = [&](const std::string& job, Launch& launch) {
    if (here.contains(job)) return false;
    if (launch.reporter == nullptr || launch.started_all.empty()) return true;
    if (!processes_.Runs(launch.started_all.front())) {
      launch.reporter->LauncherGone(now_ns);
      return true;
    }
    return clock_.MonotonicNs() - launch.lost_at_ns > kForgetAfterNs;
  };
  for (auto entry = launches_.begin(); entry != launches_.end();) {
    entry = is_over(entry->first, entry->second) ? launches_.erase(entry) : std::next(entry);
  }
}

}  // namespace pitwall::collector
