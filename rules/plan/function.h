// Functions that work on whole instant vectors or scalars, element by element (functions over
// windows are demands).
#pragma once

#include <cstdint>

namespace pitwall::plan {

enum class FunctionId : uint32_t {
  kAbs,
  kCeil,
  kFloor,
  kExp,
  kLn,
  kLog2,
  kLog10,
  kSqrt,
  kSgn,
  kRound,  // inputs: vector[, scalar]
  kClamp,
  kClampMin,
  kClampMax,  // vector, scalar(s)
  kScalar,
  kVector,
  kAbsent,       // labels of the result: in Node::matching.include as "name=value" pairs from equal
                 // matchers
  kTimestampOf,  // timestamp() over anything but a plain selector: the tick
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCos,
  kCosh,
  kSin,
  kSinh,
  kTan,
  kTanh,
  kDeg,
  kRad,
  // Of Unix seconds, in UTC.
  kMinute,
  kHour,
  kDayOfWeek,
  kDayOfMonth,
  kDayOfYear,
  kDaysInMonth,
  kMonth,
  kYear,
  kMaxOf,  // of two scalars
  kMinOf,
  // Labels: Node::strings has the texts as written, without the vector.
  kLabelReplace,
  kLabelJoin,
  // Classic histograms: buckets are elements with a label `le`.
  kHistogramQuantile,   // scalar, vector
  kHistogramFraction,   // scalar, scalar, vector
  kHistogramQuantiles,  // vector, scalar…; strings[0]: the label that tells the quantile
  // Beyond PromQL (docs/functions.md).
  kHistogramDistance,  // vector, vector
  kPeerHistograms,     // vector; strings: the labels that peers share
  kPeerScore,          // vector; strings: the labels that peers share
  kBaselineScore,      // vector, medians of the baselines, MADs of the baselines
};

}  // namespace pitwall::plan
