// Decision about a stop.
#pragma once

#include <cstdint>

#include "services/executor/targets/stop_target.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Decision to stop a job or to refuse the stop.
struct StopDecision {
  ActionEvent action;
  StopTarget* target = nullptr;  // borrowed; null if this executor has no target for the job
  int64_t grace_ns = 0;          // period during which the effect is checked
  // Returns true if the target must stop the job once the decision is committed.
  bool live() const {
    return action.type == ActionEventType::kDecided && action.mode == ActionMode::kLive;
  }
};

}  // namespace pitwall::executor
