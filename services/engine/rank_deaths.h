// Deaths of one attempt's ranks: which came first, what it was, and what followed it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::engine {

struct RankDeath {
  int64_t at = 0;  // event time
  int64_t rank = -1;
  std::string node;
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
  bool said_failed = false;  // it said goodbye: an exception, or an exit with a code
};

// A state machine in event time; reads no clock. Its verdict is one series:
//   pitwall_rank_lost{rank,node,cause,verdict}   1 for the first death of the attempt
//   pitwall_job_ranks_lost                       how many were lost, teardown included
// Within kStopWithinNs after the executor announced that it ends the job, every death is that end:
// "cancelled" by cause "stopped by the executor", whatever the process made of the signal.
// cause: "out of memory", "signal 9", "exit code 3", "exception", "unknown". verdict: "died", or
// "cancelled" where somebody ended the ranks on purpose. What follows the first death is teardown
// and has no series of its own.
class RankDeaths {
 public:
  static constexpr int64_t kStopWithinNs = 300'000'000'000;
  static constexpr std::string_view kLost = "pitwall_rank_lost";
  static constexpr std::string_view kCount = "pitwall_job_ranks_lost";

  using Values = std::vector<std::pair<Labels, double>>;

  // In the order of event time.
  void Add(RankDeath death);
  // Any time: a rank may say it too, with whatever clock.
  void AnnounceStop(int64_t at) { stop_at_ = std::max(at, kMinPosition + 1); }
  // Whether a death at that time is the end that was announced.
  bool IsStop(int64_t at) const;
  // What has become known by `now`, to be written at `now`: each change once.
  Values Judge(int64_t now);
  // By then rules have seen the first death: the end of the job waits for it. INT64_MIN: no death.
  int64_t told_by() const;
  // By then rules have seen the first death, as it is known now. INT64_MIN: no death.
  int64_t seen_by() const;
  // Another attempt has begun.
  void Clear() { *this = RankDeaths(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  int64_t JudgedAt() const;
  Labels Series() const;

  std::optional<int64_t> stop_at_;  // event time of the announcement
  std::optional<RankDeath> first_;
  int64_t first_at_ = INT64_MIN;  // of the first death heard of, whichever is named
  uint64_t count_ = 0;
  uint64_t terminated_ = 0;  // by SIGTERM, close enough to the first one
  uint64_t told_count_ = 0;
  bool told_ = false;
  bool cancelled_ = false;  // as told
};

}  // namespace pitwall::engine
