// Deaths of one attempt's ranks: the first death, its cause, and the deaths that followed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/lifecycle/executor_stop.h"
#include "services/engine/lifecycle/platform_report.h"
#include "services/model/labels.h"

namespace pitwall::engine {

// A state machine in event time, independent of the system clock. Its outputs are two series:
//   pitwall_rank_lost{rank,node,cause,verdict,exception}
//                            1 for the attempt's first death; `exception` only for that cause
//   pitwall_job_ranks_lost   number of lost ranks, including teardown
// The label `cause` is text such as "out of memory", "signal 9", "exit code 3", "exception", or
// "unknown". The label `verdict` is "died", or "cancelled" if the ranks were ended on purpose.
// Later deaths are teardown and have no series.
//
// The executor may announce that it is ending the job. Every death within ExecutorStop::kWithin of
// the announcement is then "cancelled" with cause "stopped by the executor", regardless of how the
// process handled the signal. If the platform reports how the job ends (platform_report.h), a death
// that is not a crash waits kPlatformWait for the report, or kPlatformWaitIfGone if all ranks and
// launchers are gone and the platform has nothing left to wait for. A later report changes the
// verdict.
class AttemptFailures {
 public:
  static constexpr Duration kPlatformWait = Duration::Millis(1'500);
  static constexpr Duration kPlatformWaitIfGone = Duration::Seconds(5);
  // After each death, a job without launchers waits this long for the platform's report before it
  // ends.
  static constexpr Duration kPlatformEndWait = Duration::Seconds(10);
  static constexpr std::string_view kLost = "pitwall_rank_lost";
  static constexpr std::string_view kCount = "pitwall_job_ranks_lost";

  using Values = std::vector<std::pair<Labels, double>>;

  // Adds a death. Deaths must be added in event-time order.
  void Add(RankDeath death);
  // The executor's announcement that it is ending the job. Later deaths are attributed to it.
  ExecutorStop& stop() { return stop_; }
  const ExecutorStop& stop() const { return stop_; }
  // Withdraws a stop that was refused. Later deaths are not attributed to it.
  void WithdrawStop() {
    if (!first_.has_value() || !stop_.Covers(first_at_)) stop_.Withdraw();
  }
  // Records that, soon after a death, the platform will report how the job ended.
  void ExpectPlatform() { expects_platform_ = true; }
  void OnPlatformReport(EventTime at, const PlatformEnd& end) {
    platform_.Receive(at, end, count_ <= 1);
  }
  // Sets whether all ranks and launchers of the job are gone. No effect after the first verdict.
  void SetGone(bool gone) { gone_ = gone && !written_; }
  bool waits_for_platform() const { return expects_platform_ && !platform_.received(); }
  // Returns whether the platform has reported the end of the whole job or attempt.
  bool covers_job() const { return platform_.covers_job(); }
  // Returns whether the first rank was ended on purpose, based on the information so far.
  bool cancelled() const;
  // Returns the values that became known by `now` and must be written at `now`. Returns each change
  // once.
  Values Judge(EventTime now);
  // Returns the time by which the rules have seen the first death. The job does not end before this
  // time. EventTime::Min() if there is no death.
  EventTime decided_by() const;
  // Returns the time by which the rules have seen the current information about the first death.
  // EventTime::Min() if there is no death.
  EventTime seen_by() const;
  // Resets the state for a new attempt.
  void Clear() { *this = AttemptFailures(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  EventTime JudgedAt() const;
  std::string Cause() const;
  Labels Series(std::string_view cause, bool cancelled) const;

  ExecutorStop stop_;
  std::optional<RankDeath> first_;
  EventTime first_at_ = EventTime::Min();  // Time of the first recorded death, reported or not.
  uint64_t count_ = 0;
  uint64_t terminated_ = 0;  // Ended by SIGTERM within kCancelWithin of the first death.
  uint64_t written_count_ = 0;
  bool written_ = false;
  bool cancelled_ = false;  // Value in the last report.
  std::string written_cause_;
  bool expects_platform_ = false;
  bool gone_ = false;
  PlatformReport platform_;
};

}  // namespace pitwall::engine
