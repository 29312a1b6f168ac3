#include "services/collector/ranks/leaving_ranks.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pitwall::collector {

std::optional<LeavingRanks::Leaving> LeavingRanks::TakeBack(
    const std::function<bool(const RankSource&)>& same) {
  const auto it = std::find_if(ranks_.begin(), ranks_.end(),
                               [&](const Leaving& leaving) { return same(*leaving.source); });
  if (it == ranks_.end()) return std::nullopt;
  Leaving taken = std::move(*it);
  ranks_.erase(it);
  return taken;
}

std::vector<LeavingRanks::Done> LeavingRanks::TakeDone(
    ProcessWatch* processes, int64_t now_ns, const std::function<bool(const RankSource&)>& now) {
  std::vector<Done> done;
  for (auto it = ranks_.begin(); it != ranks_.end();) {
    const int64_t waited_ns = now_ns - it->since_ns;
    const bool exiting = it->farewell.exiting;
    auto end = processes->EndOf(it->source->identity().process);
    const bool over = waited_ns >= (exiting ? kExitWithinNs : kFinishedWithinNs) ||
                      ranks_.size() > kMost || (now != nullptr && now(*it->source));
    if (!end.has_value() && over) end = ProcessEnd();
    if (end.has_value()) {
      done.push_back({std::move(*it), *end});
      it = ranks_.erase(it);
      continue;
    }
    if (!exiting || waited_ns >= kSendWithinNs) it->source->Goodbye(it->farewell.reason);
    ++it;
  }
  return done;
}

void LeavingRanks::ListTo(std::vector<const WatchedProcess*>* watched,
                          std::set<std::string, std::less<>>* jobs) const {
  for (const Leaving& leaving : ranks_) {
    watched->push_back(&leaving.source->identity().process);
    jobs->insert(leaving.source->identity().job);
  }
}

bool LeavingRanks::Has(std::string_view job) const {
  return std::any_of(ranks_.begin(), ranks_.end(), [job](const Leaving& leaving) {
    return leaving.source->identity().job == job;
  });
}

}  // namespace pitwall::collector
