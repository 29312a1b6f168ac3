// Ranks that have sent a goodbye. They are kept until their exit status is known.
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
  // Maximum wait for the exit status of an exiting process. After this time, the goodbye determines
  // the verdict.
  static constexpr int64_t kExitWithinNs = 60 * kNanosPerSecond;
  // Maximum wait for a process that keeps running after its goodbye. Equal to the time that the
  // rank's job waits for a restart.
  static constexpr int64_t kFinishedWithinNs = 5 * kNanosPerSecond;
  // After this time, the goodbye is published, so that the rank no longer delays its job's
  // watermark.
  static constexpr int64_t kSendWithinNs = kNanosPerSecond;
  static constexpr size_t kMost = 1024;

  struct Leaving {
    std::unique_ptr<RankSource> source;
    Farewell farewell;
    uint64_t client = 0;  // client to which the rank's job is still bound
    int64_t since_ns = 0;
  };

  void Add(Leaving leaving) { ranks_.push_back(std::move(leaving)); }
  // Removes and returns a rank that has sent another hello, for example because its connection
  // broke after the goodbye. Returns nullopt if there is no such rank.
  std::optional<Leaving> TakeBack(const std::function<bool(const RankSource&)>& same);

  struct Done {
    Leaving leaving;
    ProcessEnd end;  // empty if the process is still running or its status is unknown
  };
  // Removes and returns the ranks whose process has ended, whose wait has timed out, or for which
  // `now` returns true. Also publishes the goodbyes of ranks that have waited for kSendWithinNs.
  std::vector<Done> TakeDone(ProcessWatch* processes, int64_t now_ns,
                             const std::function<bool(const RankSource&)>& now = nullptr);

  void ListTo(std::vector<const WatchedProcess*>* watched,
              std::set<std::string, std::less<>>* jobs) const;
  bool Has(std::string_view job) const;
  // Returns the time at which the newest rank started to wait, or a time far in the past if there
  // are no ranks.
  int64_t newest_ns() const { return ranks_.empty() ? INT64_MIN / 2 : ranks_.back().since_ns; }

 private:
  std::list<Leaving> ranks_;  // oldest first
};

}  // namespace pitwall::collector
