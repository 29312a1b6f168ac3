// Stops that one worker executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/executor/targets/stop_target.h"
#include "services/executor/worker/stop_decision.h"
#include "services/executor/worker/stop_outcomes.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Executed stops whose effect is being checked. Adds exactly one outcome per executed stop. Not
// thread-safe. All pointers are borrowed.
class ExecutedStops {
 public:
  ExecutedStops(const Clock* clock, StopOutcomes* outcomes) : clock_(clock), outcomes_(outcomes) {}

  // Stops the job, and checks the effect from now on. Requires a live decision that is committed.
  void Execute(const StopDecision& decision);
  // Checks the stops that are due, and finishes those that had an effect or whose grace has ended.
  void CheckEffects();
  // Finishes all stops because the executor stops.
  void Abandon();
  bool empty() const { return watched_.empty(); }

 private:
  struct Watched {  // executed stop whose effect is being checked
    ActionEvent decision;
    StopTarget* target = nullptr;
    std::string done;  // description of the action
    int64_t until_ns = 0;
    int64_t grace_ns = 0;
    int64_t look_at_ns = 0;
  };

  const Clock* const clock_;
  StopOutcomes* const outcomes_;
  std::vector<Watched> watched_;
};

}  // namespace pitwall::executor
