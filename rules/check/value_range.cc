#include "rules/check/value_range.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/base/text/strings.h"
#include "services/model/windows/function_table.h"

namespace pitwall::check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsAny(const ValueRange& range) { return !range.IsBounded() && range.low != range.high; }

ValueRange Make(double low, double high) {
  if (std::isnan(low)) low = -kInfinity;
  if (std::isnan(high)) high = kInfinity;
  return {low, high, false, false};
}

// Returns the range of a sum of one or more values in `range`.
ValueRange SumOf(const ValueRange& range) {
  if (range.low >= 0) return Make(range.low, kInfinity);
  if (range.high <= 0) return Make(-kInfinity, range.high);
  return {};
}

}  // namespace

bool IsEmpty(const ValueRange& range) {
  return range.low > range.high || (range.low == range.high && (range.low_open || range.high_open));
}

ValueRange Intersect(const ValueRange& a, const ValueRange& b) {
  ValueRange out;
  out.low = std::max(a.low, b.low);
  out.low_open = (a.low == out.low && a.low_open) || (b.low == out.low && b.low_open);
  out.high = std::min(a.high, b.high);
  out.high_open = (a.high == out.high && a.high_open) || (b.high == out.high && b.high_open);
  return out;
}

ValueRange Hull(const ValueRange& a, const ValueRange& b) {
  ValueRange out;
  out.low = std::min(a.low, b.low);
  out.low_open = (a.low > out.low || a.low_open) && (b.low > out.low || b.low_open);
  out.high = std::max(a.high, b.high);
  out.high_open = (a.high < out.high || a.high_open) && (b.high < out.high || b.high_open);
  return out;
}

bool Contains(const ValueRange& outer, const ValueRange& inner) {
  const bool low =
      inner.low > outer.low || (inner.low == outer.low && (!outer.low_open || inner.low_open));
  const bool high = inner.high < outer.high ||
                    (inner.high == outer.high && (!outer.high_open || inner.high_open));
  return low && high;
}

ValueRange Allowed(BinaryOp op, const ValueRange& bound) {
  switch (op) {
    case BinaryOp::kGt:
      return {bound.low, kInfinity, true, false};
    case BinaryOp::kGe:
      return {bound.low, kInfinity, bound.low_open, false};
    case BinaryOp::kLt:
      return {-kInfinity, bound.high, false, true};
    case BinaryOp::kLe:
      return {-kInfinity, bound.high, false, bound.high_open};
    case BinaryOp::kEq:
      return bound;
    default:
      return {};
  }
}

bool NeverTrue(BinaryOp op, const ValueRange& left, const ValueRange& right) {
  if (std::isnan(left.low) || std::isnan(right.low)) return op != BinaryOp::kNe;
  if (op == BinaryOp::kNe) return left.IsPoint() && right.IsPoint() && left.low == right.low;
  return IsEmpty(Intersect(left, Allowed(op, right)));
}

bool AlwaysTrue(BinaryOp op, const ValueRange& left, const ValueRange& right) {
  if (std::isnan(left.low) || std::isnan(right.low)) return op == BinaryOp::kNe;
  switch (op) {
    case BinaryOp::kGt:
      return NeverTrue(BinaryOp::kLe, left, right);
    case BinaryOp::kGe:
      return NeverTrue(BinaryOp::kLt, left, right);
    case BinaryOp::kLt:
      return NeverTrue(BinaryOp::kGe, left, right);
    case BinaryOp::kLe:
      return NeverTrue(BinaryOp::kGt, left, right);
    case BinaryOp::kEq:
      return NeverTrue(BinaryOp::kNe, left, right);
    case BinaryOp::kNe:
      return NeverTrue(BinaryOp::kEq, left, right);
    default:
      return false;
  }
}

ValueRange Negate(const ValueRange& range) {
  return {-range.high, -range.low, range.high_open, range.low_open};
}

ValueRange Arithmetic(BinaryOp op, const ValueRange& left, const ValueRange& right) {
  if (op == BinaryOp::kMod) {
    // The result has the dividend's sign and is smaller than the divisor.
    if (!right.IsPoint() || !std::isfinite(right.low) || right.low == 0) return {};
    const double most = std::fabs(right.low);
    return {left.low >= 0 ? 0 : -most, left.high <= 0 ? 0 : most, left.low<0, left.high> 0};
  }
  if (IsAny(left) || IsAny(right)) return {};
  switch (op) {
    case BinaryOp::kAdd:
      return Make(left.low + right.low, left.high + right.high);
    case BinaryOp::kSub:
      return Make(left.low - right.high, left.high - right.low);
    case BinaryOp::kMul:
    case BinaryOp::kDiv: {
      const bool divides = op == BinaryOp::kDiv;
      if (divides && right.low <= 0 && right.high >= 0) {
        // The divisor may be 0, so only a sign shared by all results is known.
        if (left.low >= 0 && right.low >= 0) return ValueRange::AtLeast(0);
        return {};
      }
      std::array<double, 4> ends;
      size_t n = 0;
      for (const double a : {left.low, left.high}) {
        for (const double b : {right.low, right.high}) ends[n++] = divides ? a / b : a * b;
      }
      // 0 times infinity occurs only at a bound that no value reaches. Products near that bound are
      // 0.
      for (double& end : ends) end = std::isnan(end) ? 0 : end;
      const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
      return Make(*low, *high);
    }
    default:
      return {};
  }
}

ValueRange RangeOfCall(const lang::CallExpr& call, std::span<const ValueRange> arguments) {
  const FunctionRow* function = FindFunction(call.function);
  if (function == nullptr) return {};
  using Rule = ResultRange::Rule;
  const ResultRange& range = function->range;
  const auto argument = [&](size_t i) {
    return i < arguments.size() ? arguments[i] : ValueRange();
  };
  const ValueRange first = argument(0), second = argument(1);
  switch (range.rule) {
    case Rule::kUnset:
    case Rule::kAny:
      return {};
    case Rule::kFixed:
      return Make(range.low, range.high);
    case Rule::kArgument:
      return first;
    case Rule::kSum:
      return SumOf(first);
    case Rule::kQuantile:
      return first.low >= 0 && first.high <= 1 ? second : ValueRange();
    case Rule::kAbs: {
      const double least = first.low > 0 ? first.low : first.high < 0 ? -first.high : 0;
      return Make(least, std::max(std::fabs(first.low), std::fabs(first.high)));
    }
    case Rule::kCeil:
      return Make(std::ceil(first.low), std::ceil(first.high));
    case Rule::kFloor:
      return Make(std::floor(first.low), std::floor(first.high));
    case Rule::kLarger:
      return Make(std::max(first.low, second.low), std::max(first.high, second.high));
    case Rule::kSmaller:
      return Make(std::min(first.low, second.low), std::min(first.high, second.high));
    case Rule::kBetween:
      return Make(second.low, argument(2).high);
  }
  return {};
}

ValueRange RangeOfAggregate(const lang::AggregateExpr& aggregate, const ValueRange& inner) {
  switch (aggregate.op) {
    case AggregateOp::kCount:
    case AggregateOp::kCountValues:
      return ValueRange::AtLeast(1);
    case AggregateOp::kGroup:
      return ValueRange::Point(1);
    case AggregateOp::kStddev:
    case AggregateOp::kStdvar:
      return ValueRange::AtLeast(0);
    case AggregateOp::kSum:
      return SumOf(inner);
    case AggregateOp::kQuantile:
      return {};
    default:
      return inner;
  }
}

std::string RangeText(const ValueRange& range) {
  // Rounding removes digits that stem from rounding errors in the bounds.
  const auto text = [](double value) {
    const double rounded = std::round(value * 1e5) / 1e5 + 0.0;  // + 0.0 avoids -0
    return FormatDouble(std::isfinite(rounded) ? rounded : value);
  };
  if (range.IsPoint()) return Cat("always ", text(range.low));
  if (std::isfinite(range.low) && std::isfinite(range.high))
    return Cat("from ", text(range.low), " to ", text(range.high));
  if (std::isfinite(range.low))
    return Cat(range.low_open ? "more than " : "at least ", text(range.low));
  if (std::isfinite(range.high))
    return Cat(range.high_open ? "less than " : "at most ", text(range.high));
  return "any number";
}

}  // namespace pitwall::check
