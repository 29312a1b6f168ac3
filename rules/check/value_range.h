// Range of possible values of a result, computed with interval arithmetic to find comparisons with
// a constant outcome. Every range includes NaN. A comparison with NaN is false (except !=), so
// "never true" also applies to NaN. Private to this module.
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
  bool low_open = false;  // true if `low` is excluded
  bool high_open = false;

  static ValueRange Point(double value) { return {value, value, false, false}; }
  static ValueRange AtLeast(double low) {
    return {low, std::numeric_limits<double>::infinity(), false, false};
  }
  bool IsPoint() const { return low == high; }
  // Returns true if the range excludes at least one number.
  bool IsBounded() const { return std::isfinite(low) || std::isfinite(high); }
};

bool IsEmpty(const ValueRange& range);
ValueRange Intersect(const ValueRange& a, const ValueRange& b);
ValueRange Hull(const ValueRange& a, const ValueRange& b);
// Returns true if `outer` includes every value in `inner`.
bool Contains(const ValueRange& outer, const ValueRange& inner);
// Returns the range of x for which `x op bound` is true for some value in `bound`. For !=, returns
// all numbers.
ValueRange Allowed(BinaryOp op, const ValueRange& bound);
// These functions return true if `left op right` is always false or always true, respectively, for
// all values of both sides.
bool NeverTrue(BinaryOp op, const ValueRange& left, const ValueRange& right);
bool AlwaysTrue(BinaryOp op, const ValueRange& left, const ValueRange& right);

ValueRange Negate(const ValueRange& range);
// Returns the result range of an arithmetic operator (+ - * / %), or all numbers if no tighter
// range is known.
ValueRange Arithmetic(BinaryOp op, const ValueRange& left, const ValueRange& right);
// Returns the range of a function's result. `arguments` are the ranges of its arguments, in order.
ValueRange RangeOfCall(const lang::CallExpr& call, std::span<const ValueRange> arguments);
ValueRange RangeOfAggregate(const lang::AggregateExpr& aggregate, const ValueRange& inner);

// Returns a description such as "from 0 to 1" or "at least 0".
std::string RangeText(const ValueRange& range);

}  // namespace pitwall::check
