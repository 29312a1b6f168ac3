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
#include "services/engine/lifecycle/executor_stop.h"
#include "services/engine/lifecycle/platform_report.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::engine {

// A state machine in event time; reads no clock. Its verdict is one series:
//   pitwall_rank_lost{rank,node,cause,verdict,exception}
//                            1 for the first death of the attempt; `exception` only of that cause
//   pitwall_job_ranks_lost   how many were lost, teardown included
// Within ExecutorStop::kWithinNs after the executor announced that it ends the job, every death is
// that end: "cancelled" by cause "stopped by the executor", whatever the process made of the
// signal. Where the platform of the job says how it ends (platform_report.h), a death that is no
// crash waits kPlatformNs for that, or kPlatformOfGoneNs where ranks and launchers are all gone, so
// that the platform has nothing left to wait for; what it says later changes what was told. cause:
// "out of memory", "signal 9", "exit code 3", "exception", "unknown". verdict: "died", or
// "cancelled" where somebody ended the ranks on purpose. What follows the first death is teardown
// and has no series of its own.
class AttemptFailures {
 public:
  static constexpr int64_t kPlatformNs = 1'500'000'000;
  static constexpr int64_t kPlatformOfGoneNs = 5'000'000'000;
  // The end of a job whose launcher is gone waits so long for its platform, after each death.
  static constexpr int64_t kPlatformEndsNs = 10'000'000'000;
  static constexpr std::string_view kLost = "pitwall_rank_lost";
  static constexpr std::string_view kCount = "pitwall_job_ranks_lost";

  using Values = std::vector<std::pair<Labels, double>>;

  // In the order of event time.
  void Add(RankDeath death);
  // The announcement that the job is ended, from which deaths follow.
  ExecutorStop& stop() { return stop_; }
  const ExecutorStop& stop() const { return stop_; }
  // The stop was refused: later deaths do not belong to it.
  void WithdrawStop() {
    if (!first_.has_value() || !stop_.Covers(first_at_)) stop_.Withdraw();
  }
  // The platform of the job will say how it ended, soon after.
  void ExpectPlatform() { expects_platform_ = true; }
  void OnPlatformReport(int64_t at, const PlatformEnd& end) {
    platform_.Hear(at, end, count_ <= 1);
  }
  // Whether all ranks and launchers of the job are gone. Changes nothing that was told before.
  void SetGone(bool gone) { gone_ = gone && !told_; }
  bool waits_for_platform() const { return expects_platform_ && !platform_.heard(); }
  // The platform has said of the whole job how it ended, or how its attempt did.
  bool heard_of_job() const { return platform_.heard_of_job(); }
  // Whether somebody ended the first rank on purpose, by what is known so far.
  bool cancelled() const;
  // What has become known by `now`, to be written at `now`: each change once.
  Values Judge(int64_t now);
  // By then rules have seen the first death: the end of the job waits for it. INT64_MIN: no death.
  int64_t told_by() const;
  // By then rules have seen the first death, as it is known now. INT64_MIN: no death.
  int64_t seen_by() const;
  // Another attempt has begun.
  void Clear() { *this = AttemptFailures(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  int64_t JudgedAt() const;
  std::string Cause() const;
  Labels Series(std::string_view cause, bool cancelled) const;

  ExecutorStop stop_;
  std::optional<RankDeath> first_;
  int64_t first_at_ = INT64_MIN;  // of the first death heard of, whichever is named
  uint64_t count_ = 0;
  uint64_t terminated_ = 0;  // by SIGTERM, close enough to the first one
  uint64_t told_count_ = 0;
  bool told_ = false;
  bool cancelled_ = false;  // as told
  std::string told_cause_;
  bool expects_platform_ = false;
  bool gone_ = false;
  PlatformReport platform_;
};

}  // namespace pitwall::engine
