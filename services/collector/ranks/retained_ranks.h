// Ranks whose connection was lost and whose process may still run.
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

// Keeps at most `most` ranks. Beyond that, the owner that has the most gives up its oldest rank, so
// an owner cannot push out the ranks of others. Not thread-safe.
class RetainedRanks {
 public:
  explicit RetainedRanks(size_t most) : most_(most) {}

  void Add(std::unique_ptr<RankSource> source);
  // Null: there is no such rank.
  std::unique_ptr<RankSource> TakeBack(const std::function<bool(const RankSource&)>& same);

  // Takes the other boots of this source of the job: the source has started again.
  std::vector<std::unique_ptr<RankSource>> TakeOtherBoots(std::string_view job,
                                                          std::string_view source,
                                                          std::string_view boot_id);
  struct Ended {
    std::unique_ptr<RankSource> source;
    ProcessEnd end;
  };
  // Takes the ranks whose process has ended.
  std::vector<Ended> TakeEnded(ProcessWatch* processes);

  void ListTo(std::vector<const WatchedProcess*>* watched,
              std::set<std::string, std::less<>>* jobs) const;
  bool Has(std::string_view job) const;
  // Oldest first.
  const std::list<std::unique_ptr<RankSource>>& ranks() const { return ranks_; }

 private:
  const size_t most_;
  std::list<std::unique_ptr<RankSource>> ranks_;  // oldest first
};

}  // namespace pitwall::collector
