// Ranks that said goodbye, until their exit status is known.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/processes/process_watch.h"
#include "services/collector/ranks/rank_source.h"
#include "services/collector/ranks/rank_verdict.h"

namespace pitwall::collector {

// Times are monotonic nanoseconds. Not thread-safe.
class LeavingRanks {
 public:
  // A process that is ending has this long; the goodbye decides then.
  static constexpr int64_t kExitWithinNs = 60 * kNanosPerSecond;
  // A process that runs on after its goodbye: as long as its job waits for a restart.
  static constexpr int64_t kFinishedWithinNs = 5 * kNanosPerSecond;
  // The goodbye is sent on after this time, so that the rank no longer holds its job's watermark.
  static constexpr int64_t kSendWithinNs = kNanosPerSecond;
  static constexpr size_t kMost = 1024;

  struct Leaving {
    std::unique_ptr<RankSource> source;
    Farewell farewell;
    uint64_t client = 0;  // whose job is still bound to it
    int64_t since_ns = 0;
  };

  void Add(Leaving leaving) { ranks_.push_back(std::move(leaving)); }
  // The rank says hello again, e.g. because its connection broke after the goodbye. Empty: there is
  // no such rank.
  std::optional<Leaving> TakeBack(const std::function<bool(const RankSource&)>& same);

  struct Done {
    Leaving leaving;
    ProcessEnd end;  // empty: the process runs on, or its status is not known
  };
  // Takes the ranks whose process has ended, whose time is over, or for which `now` holds; sends
  // the goodbye of those that take longer.
  std::vector<Done> TakeDone(ProcessWatch* processes, int64_t now_ns,
                             const std::function<bool(const RankSource&)>& now = nullptr);

  void ListTo(std::vector<const WatchedProcess*>* watched,
              std::set<std::string, std::less<>>* jobs) const;
  bool Has(std::string_view job) const;
  // Start of the wait of the newest; the far past without one.
  int64_t newest_ns() const { return ranks_.empty() ? INT64_MIN / 2 : ranks_.back().since_ns; }

 private:
  std::list<Leaving> ranks_;  // oldest first
};

}  // namespace pitwall::collector
