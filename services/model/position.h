// Position of a sample on its clock as a plain number, for columns of samples and persistent
// formats. Other code uses the type Position (services/base/time.h).
//
// On the time clock, a position is event time in Unix nanoseconds. On the step clock, step s is at
// s * kStepUnit, as if one step took one second. As a result, durations written as plain numbers,
// rates per step, a look-back of 1000 steps, and time() == step need no separate code.
#pragma once

#include <cstdint>

namespace pitwall {

inline constexpr int64_t kStepUnit = 1'000'000'000;
inline constexpr int64_t kNoStep = -1;
// Minimum position. Leaves room to subtract a window without overflow.
inline constexpr int64_t kMinPosition = INT64_MIN / 4;
inline constexpr int64_t kMaxPosition = INT64_MAX / 4;

// Maximum step with a position. (Clients that count tokens as steps must count in thousands.)
inline constexpr int64_t kMaxStep = kMaxPosition / kStepUnit - 1;

inline constexpr int64_t StepPosition(int64_t step) { return step * kStepUnit; }

// Returns the largest multiple of `unit` that is <= position. unit > 0.
inline constexpr int64_t FloorTo(int64_t position, int64_t unit) {
  int64_t q = position / unit;
  if (position % unit < 0) --q;
  return q * unit;
}
// Returns the smallest such multiple that is > position.
inline constexpr int64_t NextAfter(int64_t position, int64_t unit) {
  return FloorTo(position, unit) + unit;
}

}  // namespace pitwall
