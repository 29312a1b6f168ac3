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
// that end: "cancelled" by cause "stopped by the executor", however the process handled the
// signal. If the platform reports how the job ends (platform_report.h), a death that is not a crash
// waits kPlatformNs for the report, or kPlatformOfGoneNs if all ranks and launchers are gone and
// the platform has nothing left to wait for. A later report changes the verdict. cause: "out of
// memory", "signal 9", "exit code 3", "exception", "unknown". verdict: "died", or "cancelled" if
// somebody ended the ranks on purpose. Later deaths are teardown and have no series of their own.
class AttemptFailures {
 public:
  static constexpr int64_t kPlatformNs = 1'500'000'000;
  static constexpr int64_t kPlatformOfGoneNs = 5'000'000'000;
  // After each death, the end of a job without launcher waits this long for the platform's report.
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
  // The platform will report how the job ended, soon after a death.
  void ExpectPlatform() { expects_platform_ = true; }
  void OnPlatformReport(int64_t at, const PlatformEnd& end) {
    platform_.Receive(at, end, count_ <= 1);
  }
  // Sets whether all ranks and launchers of the job are gone. No effect after the first verdict.
  void SetGone(bool gone) { gone_ = gone && !written_; }
  bool waits_for_platform() const { return expects_platform_ && !platform_.received(); }
  // Whether the platform has reported the end of the whole job or attempt.
  bool covers_job() const { return platform_.covers_job(); }
  // Whether somebody ended the first rank on purpose, by what is known so far.
  bool cancelled() const;
  // What has become known by `now`, to be written at `now`: each change once.
  Values Judge(int64_t now);
  // By then rules have seen the first death: the end of the job waits for it. INT64_MIN: no death.
  int64_t decided_by() const;
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
  uint64_t written_count_ = 0;
  bool written_ = false;
  bool cancelled_ = false;  // as told
  std::string written_cause_;
  bool expects_platform_ = false;
  bool gone_ = false;
  PlatformReport platform_;
};

}  // namespace pitwall::engine
