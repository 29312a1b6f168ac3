// Ranks of a job's attempt in event order: how many run, how many were lost, the launchers of their
// nodes, and of what the attempt died when none is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "services/base/binary.h"
#include "services/engine/lifecycle/attempt_failures.h"
#include "services/engine/sources/source.h"
#include "services/model/issues/job_end.h"

namespace pitwall::engine {

// Not thread-safe.
class AttemptRanks {
 public:
  // The process of a rank runs, as far as is known: the attempt is not dead. False: it is counted
  // already, or has ended.
  bool Join(Source* source);
  // It runs no longer. False: it did not run.
  bool Leave(Source* source);
  // A rank that runs was lost.
  void CountLost() { ++lost_; }
  bool has_lost() const { return lost_ > 0; }
  // The launcher of a node is gone. False: no rank of the attempt has run there.
  bool OnLauncherGone(const std::string& node);
  // All nodes of the attempt's ranks have lost their launcher.
  bool LaunchersGone() const;

  // No rank runs, at least one was lost, and the attempt has not died yet.
  bool MustDie() const { return running_ == 0 && lost_ > 0 && !died_at_.has_value(); }
  void Die(int64_t at);
  // When it died; none while some rank runs.
  const std::optional<int64_t>& died_at() const { return died_at_; }
  // How an attempt ended that lost its ranks: as alerts of the deaths say, too.
  EndDetail DetailOfDeath() const;
  // How the job ended by the event: a failure that its platform reports is how its ranks were lost,
  // where they were, and a cancellation that the executor asked for is its stop.
  EndDetail DetailOfEnd(const JobEvent& event, int64_t at) const;
  // When a job without launchers is over. Its platform may report when its last rank has ended,
  // long after the first death.
  int64_t OverBy() const;
  AttemptFailures& failures() { return failures_; }
  const AttemptFailures& failures() const { return failures_; }

  // Another attempt begins; `nodes`: those on which ranks run now.
  void BeginAttempt(const absl::flat_hash_set<std::string_view>& nodes);
  // The job begins again after its end: no rank is known.
  void Resume();

  // Without failures and the death, which a snapshot has elsewhere.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void RestoreDeath(std::optional<int64_t> at) { died_at_ = at; }
  // Counts the ranks of the restored sources that run.
  void RestoreRunning(const SourceMap& sources);

 private:
  size_t running_ = 0;
  size_t lost_ = 0;
  std::optional<int64_t> died_at_;
  AttemptFailures failures_;
  std::map<std::string, bool, std::less<>> launchers_gone_;  // by node
};

}  // namespace pitwall::engine
