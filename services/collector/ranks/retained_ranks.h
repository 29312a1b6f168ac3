// Ranks whose connection was lost but whose process may still be running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/processes/process_watch.h"
#include "services/collector/ranks/rank_source.h"

namespace pitwall::collector {

// Keeps at most `most` ranks. Above the limit, the oldest rank of the owner with the most ranks is
// evicted, so that no owner can evict other owners' ranks. Not thread-safe.
class RetainedRanks {
 public:
  explicit RetainedRanks(size_t most) : most_(most) {}

  void Add(std::unique_ptr<RankSource> source);
  // Removes and returns the matching rank. Returns nullptr if there is no such rank.
  std::unique_ptr<RankSource> TakeBack(const std::function<bool(const RankSource&)>& same);

  // Removes and returns the ranks from a restarted source's other boots.
  std::vector<std::unique_ptr<RankSource>> TakeOtherBoots(std::string_view job,
                                                          std::string_view source,
                                                          std::string_view boot_id);
  struct Ended {
    std::unique_ptr<RankSource> source;
    ProcessEnd end;
  };
  // Removes and returns the ranks whose process has ended.
  std::vector<Ended> TakeEnded(ProcessWatch* processes);

  void ListTo(std::vector<const WatchedProcess*>* watched,
              std::set<std::string, std::less<>>* jobs) const;
  bool Has(std::string_view job) const;
  // Returns the ranks, oldest first.
  const std::list<std::unique_ptr<RankSource>>& ranks() const { return ranks_; }

 private:
  const size_t most_;
  std::list<std::unique_ptr<RankSource>> ranks_;  // oldest first
};

}  // namespace pitwall::collector
