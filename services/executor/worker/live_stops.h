// Live stops of one worker, from the commit of the decision to the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/executor/decision_index.h"
#include "services/executor/worker/stop_decision.h"
#include "services/executor/worker/stop_outcomes.h"

namespace pitwall::executor {

// State of a live stop. Every transition is one function of LiveStops:
//
//   (reserved) -- OnCommitted ----> kExecuted
//   (reserved) -- OnUnconfirmed --> kUnconfirmed -- Confirm --> kCommitted, or forgotten
//   (reserved) -- OnFailed -------> forgotten
//   kCommitted -- ExecuteCommitted --> kExecuted
//   kCommitted -- Cancel, CancelAll -> outcome
//   kExecuted --- CheckEffects, Abandon --> outcome
//
// A stop is reserved in the DecisionIndex before its decision is committed. A stop that this
// process executed is never executed again. A restart continues from the log: the executor records
// an outcome for each committed decision that has none, and executes none of them
// (PartitionWorker::Open).
enum class StopState {
  kUnconfirmed,  // the log did not confirm the commit; the decision may or may not be in the log
  kCommitted,    // the decision is in the log, and the stop is not executed yet
  kExecuted,     // the target was called, and the effect is being checked
};

// At most one state per issue. Adds exactly one outcome per committed stop. Not thread-safe. All
// pointers are borrowed.
class LiveStops {
 public:
  LiveStops(const Clock* clock, DecisionIndex* index, StopOutcomes* outcomes)
      : clock_(clock), index_(index), outcomes_(outcomes) {}

  // The decisions were committed. Executes the stops in this order.
  void OnCommitted(const std::vector<StopDecision>& stops);
  // The result of the commit is unknown. The reservations are kept until Confirm.
  void OnUnconfirmed(const std::vector<StopDecision>& stops);
  // The decisions were not committed.
  void OnFailed(const std::vector<StopDecision>& stops);

  // Resolves the unconfirmed stops after the index has read all decisions of the log. A decision
  // that is not in the log is released. `ours` is true if this worker made the last commit.
  // Otherwise, another executor decided the issue and acts on it.
  void Confirm(bool ours);
  void ExecuteCommitted();
  // Finishes a committed stop that was not executed.
  void Cancel(std::string_view issue, std::string_view reason);
  void CancelAll(std::string_view reason);
  // Checks the effects that are due. Finishes a stop if it took effect or its grace period has
  // ended.
  void CheckEffects();
  // Finishes all executed stops because the executor is shutting down.
  void Abandon();

  std::optional<StopState> StateOf(std::string_view issue) const;
  bool Has(StopState state) const;

 private:
  struct Stop {
    StopState state = StopState::kUnconfirmed;
    StopDecision decision;
    // The following fields belong to kExecuted.
    std::string done;  // description of the action
    int64_t until_ns = 0;
    int64_t look_at_ns = 0;
  };

  // Calls `finish` with each stop in the state, and forgets the stops for which it returns true.
  template <typename Finish>
  void ForEach(StopState state, Finish finish);
  // Calls the target. Returns false if the stop has an outcome at once.
  bool Execute(Stop* stop);
  // Returns true if the stop has an outcome.
  bool CheckEffect(Stop* stop);

  const Clock* const clock_;
  DecisionIndex* const index_;
  StopOutcomes* const outcomes_;
  std::map<std::string, Stop, std::less<>> stops_;  // by issue ID
};

}  // namespace pitwall::executor
