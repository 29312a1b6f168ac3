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

  // Stops the job and starts checking the effect. Requires a committed live decision.
  void Execute(const StopDecision& decision);
  // Checks the stops that are due. Finishes a stop if it took effect or its grace period has ended.
  void CheckEffects();
  // Finishes all stops because the executor is shutting down.
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
