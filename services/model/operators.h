// Operators of PromQL.
#pragma once

namespace pitwall {

enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kPow,
  kAtan2,
  kEq,
  kNe,
  kGt,
  kLt,
  kGe,
  kLe,
  kTrimUpper,
  kTrimLower,  // </ and >/ on native histograms
  kAnd,
  kOr,
  kUnless,
};
inline constexpr bool IsComparison(BinaryOp op) {
  return op >= BinaryOp::kEq && op <= BinaryOp::kLe;
}
inline constexpr bool IsSetOp(BinaryOp op) { return op >= BinaryOp::kAnd; }

// Snapshots contain the numbers.
enum class AggregateOp {
  kSum,
  kAvg,
  kMin,
  kMax,
  kCount,
  kGroup,
  kStddev,
  kStdvar,
  kQuantile,
  // topk, bottomk, limitk, and limit_ratio select elements without changing them.
  kTopk,
  kBottomk,
  kLimitk,
  kLimitRatio,
  kCountValues,  // one element per value
};

}  // namespace pitwall
