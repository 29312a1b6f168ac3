// Range of the values of a result: interval arithmetic over expressions, for finding
// comparisons that nothing can change. NaN lies in every range; a comparison with it is false (but
// for !=), so "never true" holds with it too. Private to this module.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "rules/lang/ast.h"

namespace pitwall::check {

struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;  // low itself is not in it
  bool high_open = false;

  static ValueRange Point(double value) { return {value, value, false, false}; }
  static ValueRange AtLeast(double low) {
    return {low, std::numeric_limits<double>::infinity(), false, false};
  }
  bool IsPoint() const { return low == high; }
  // Whether it says anything at all.
  bool IsBounded() const { return std::isfinite(low) || std::isfinite(high); }
};

bool IsEmpty(const ValueRange& range);
ValueRange Intersect(const ValueRange& a, const ValueRange& b);
ValueRange Hull(const ValueRange& a, const ValueRange& b);
// Whether every value of `inner` is in `outer`.
bool Contains(const ValueRange& outer, const ValueRange& inner);
// What x has to be for `x op bound` to hold for some value of `bound`; all numbers for !=.
ValueRange Allowed(lang::BinaryOp op, const ValueRange& bound);
// Whether `left op right` fails (holds) for all numbers of the two.
bool NeverTrue(lang::BinaryOp op, const ValueRange& left, const ValueRange& right);
bool AlwaysTrue(lang::BinaryOp op, const ValueRange& left, const ValueRange& right);

ValueRange Negate(const ValueRange& range);
// + - * / %; all numbers where the operator or the operands allow no more.
ValueRange Arithmetic(lang::BinaryOp op, const ValueRange& left, const ValueRange& right);
// Of a function: `arguments` are the ranges of its arguments, in order.
ValueRange RangeOfCall(const lang::CallExpr& call, std::span<const ValueRange> arguments);
ValueRange RangeOfAggregate(const lang::AggregateExpr& aggregate, const ValueRange& inner);

// "from 0 to 1", "at least 0".
std::string RangeText(const ValueRange& range);

}  // namespace pitwall::check
