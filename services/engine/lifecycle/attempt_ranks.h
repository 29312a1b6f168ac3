// Ranks of a job's attempt, in event order: the numbers of running and lost ranks, the launchers on
// their nodes, and the cause of death when no ranks remain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/lifecycle/attempt_failures.h"
#include "services/engine/sources/source.h"
#include "services/model/issues/job_end.h"

namespace pitwall::engine {

// Not thread-safe.
class AttemptRanks {
 public:
  // Records that a rank's process is believed to be running, so the attempt is not dead. Returns
  // false if the rank is already counted or has ended.
  bool Join(Source* source);
  // Records that the rank is no longer running. Returns false if it was not running.
  bool Leave(Source* source);
  // Counts the loss of a running rank.
  void CountLost() { ++lost_; }
  bool has_lost() const { return lost_ > 0; }
  // Records that a node's launcher is gone. Returns false if no rank of the attempt has run on that
  // node.
  bool OnLauncherGone(const std::string& node);
  // Returns whether all nodes that have run ranks of the attempt have lost their launchers.
  bool LaunchersGone() const;

  // Returns whether no rank is running, at least one was lost, and the attempt has not died yet.
  bool MustDie() const { return running_ == 0 && lost_ > 0 && !died_at_.has_value(); }
  void Die(EventTime at);
  // Time of the attempt's death. Empty while a rank is running.
  const std::optional<EventTime>& died_at() const { return died_at_; }
  // Returns how an attempt that lost its ranks ended. The result is consistent with the alerts
  // about the deaths.
  EndDetail DetailOfDeath() const;
  // Returns how the job ended according to the event. If the platform reports a failure, the detail
  // comes from the lost ranks, if any. A cancellation requested by the executor counts as a stop by
  // the executor.
  EndDetail DetailOfEnd(const JobEvent& event, EventTime at) const;
  // Returns the time at which a job without launchers is over. The platform may not report the end
  // until the last rank has ended, possibly long after the first death.
  EventTime OverBy() const;
  AttemptFailures& failures() { return failures_; }
  const AttemptFailures& failures() const { return failures_; }

  // Starts a new attempt. `nodes` are the nodes with running ranks.
  void BeginAttempt(const absl::flat_hash_set<std::string_view>& nodes);
  // Resets the ranks when the job starts again after its end.
  void Resume();

  // Saves all state except the failures and the death, which a snapshot stores elsewhere.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void RestoreDeath(std::optional<EventTime> at) { died_at_ = at; }
  // Counts the running ranks of the restored sources.
  void RestoreRunning(const SourceMap& sources);

 private:
  size_t running_ = 0;
  size_t lost_ = 0;
  std::optional<EventTime> died_at_;
  AttemptFailures failures_;
  std::map<std::string, bool, std::less<>> launchers_gone_;  // By node.
};

}  // namespace pitwall::engine
