#include "services/collector/ranks/retained_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pitwall::collector {

void RetainedRanks::Add(std::unique_ptr<RankSource> source) {
  ranks_.push_back(std::move(source));
  if (ranks_.size() <= most_) return;
  std::map<std::string_view, size_t> counts;
  size_t largest = 0;
  for (const auto& rank : ranks_) largest = std::max(largest, ++counts[rank->identity().owner]);
  const auto oldest = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    return counts[rank->identity().owner] == largest;
  });
  ranks_.erase(oldest);
}

std::unique_ptr<RankSource> RetainedRanks::TakeBack(
    const std::function<bool(const RankSource&)>& same) {
  const auto it =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& rank) { return same(*rank); });
  if (it == ranks_.end()) return nullptr;
  std::unique_ptr<RankSource> taken = std::move(*it);
  ranks_.erase(it);
  return taken;
}

std::vector<std::unique_ptr<RankSource>> RetainedRanks::TakeOtherBoots(std::string_view job,
                                                                       std::string_view source,
                                                                       std::string_view boot_id) {
  std::vector<std::unique_ptr<RankSource>> taken;
  for (auto it = ranks_.begin(); it != ranks_.end();) {
    const RankSource::Identity& identity = (*it)->identity();
    if (identity.job != job || identity.source != source || identity.boot_id == boot_id) {
      ++it;
      continue;
    }
    taken.push_back(std::move(*it));
    it = ranks_.erase(it);
  }
  return taken;
}

std::vector<RetainedRanks::Ended> RetainedRanks::TakeEnded(ProcessWatch* processes) {
  std::vector<Ended> ended;
  for (auto it = ranks_.begin(); it != ranks_.end();) {
    auto end = processes->EndOf((*it)->identity().process);
    if (!end.has_value()) {
      ++it;
      continue;
    }
    ended.push_back({std::move(*it), *std::move(end)});
    it = ranks_.erase(it);
  }
  return ended;
}

void RetainedRanks::ListTo(std::vector<const WatchedProcess*>* watched,
                           std::set<std::string, std::less<>>* jobs) const {
  for (const auto& rank : ranks_) {
    watched->push_back(&rank->identity().process);
    jobs->insert(rank->identity().job);
  }
}

bool RetainedRanks::Has(std::string_view job) const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [job](const auto& rank) { return rank->identity().job == job; });
}

}  // namespace pitwall::collector
