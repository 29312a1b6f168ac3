// Evaluation time: position on the rule's clock, event time, step, and attempt.
#pragma once

#include <cstdint>

#include "services/base/time.h"

namespace pitwall {

struct EvalTime {
  Position position;         // on the rule's clock
  EventTime time;            // equals the position on the time clock
  Step step = Step::None();  // Step::None(): unknown
  uint64_t attempt = 0;
};

}  // namespace pitwall
