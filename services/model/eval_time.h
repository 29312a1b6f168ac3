// Time of an evaluation: its position on the rule's clock, its event time, step, and attempt.
#pragma once

#include <cstdint>

#include "services/model/position.h"

namespace pitwall {

struct EvalTime {
  int64_t position = 0;    // on the rule's clock
  int64_t time_ns = 0;     // event time; equals the position on the time clock
  int64_t step = kNoStep;  // kNoStep: unknown
  uint64_t attempt = 0;
};

}  // namespace pitwall
