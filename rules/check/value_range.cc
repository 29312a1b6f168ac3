#include "rules/check/value_range.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <string_view>
#include <utility>

#include "services/base/strings.h"

namespace pitwall::check {
namespace {

using lang::BinaryOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

// Whose results do not depend on their arguments' ranges.
struct FixedRange {
  std::string_view function;
  double low, high;
};
constexpr FixedRange kFixed[] = {
    {"absent", 1, 1},
    {"absent_over_time", 1, 1},
    {"present_over_time", 1, 1},
    {"count_over_time", 1, kInfinity},
    {"stddev_over_time", 0, kInfinity},
    {"stdvar_over_time", 0, kInfinity},
    {"mad_over_time", 0, kInfinity},
    {"outliers_over_time", 0, kInfinity},
    {"kendall_tau_over_time", -1, 1},
    {"changes", 0, kInfinity},
    {"resets", 0, kInfinity},
    // Of counters, which is what they are for.
    {"rate", 0, kInfinity},
    {"increase", 0, kInfinity},
    {"irate", 0, kInfinity},
    {"exp", 0, kInfinity},
    {"sqrt", 0, kInfinity},
    {"cosh", 1, kInfinity},
    {"acosh", 0, kInfinity},
    {"sgn", -1, 1},
    {"sin", -1, 1},
    {"cos", -1, 1},
    {"tanh", -1, 1},
    {"asin", -kPi / 2, kPi / 2},
    {"atan", -kPi / 2, kPi / 2},
    {"acos", 0, kPi},
    {"minute", 0, 59},
    {"hour", 0, 23},
    {"day_of_week", 0, 6},
    {"day_of_month", 1, 31},
    {"day_of_year", 1, 366},
    {"days_in_month", 28, 31},
    {"month", 1, 12},
    {"histogram_fraction", 0, 1},
    {"histogram_distance", 0, 1},
    {"peer_histogram_distance", 0, 1},
    {"histogram_over_time", 0, kInfinity},
    {"share_over_time", 0, 1},
};

// Results are among the arguments' values, or between them.
constexpr std::string_view kSame[] = {
    "avg_over_time", "min_over_time",      "max_over_time", "last_over_time", "first_over_time",
    "label_replace", "label_join",         "sort",          "sort_desc",      "sort_by_label",
    "vector",        "sort_by_label_desc", "scalar",
};

bool IsAny(const ValueRange& range) { return !range.IsBounded() && range.low != range.high; }

ValueRange Make(double low, double high) {
  if (std::isnan(low)) low = -kInfinity;
  if (std::isnan(high)) high = kInfinity;
  return {low, high, false, false};
}

// A sum of at least one of them.
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
    // The sign of the dividend, smaller than the divisor.
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
        // By something that may be 0: of the sign that both have.
        if (left.low >= 0 && right.low >= 0) return ValueRange::AtLeast(0);
        return {};
      }
      std::array<double, 4> ends;
      size_t n = 0;
      for (const double a : {left.low, left.high}) {
        for (const double b : {right.low, right.high}) ends[n++] = divides ? a / b : a * b;
      }
      // 0 times infinity: an end that nothing reaches; what comes near it is 0.
      for (double& end : ends) end = std::isnan(end) ? 0 : end;
      const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
      return Make(*low, *high);
    }
    default:
      return {};
  }
}

ValueRange RangeOfCall(const lang::CallExpr& call, std::span<const ValueRange> arguments) {
  const std::string_view name = call.function;
  for (const FixedRange& fixed : kFixed) {
    if (fixed.function == name) return Make(fixed.low, fixed.high);
  }
  if (arguments.empty()) return {};
  const ValueRange& first = arguments[0];
  if (std::find(std::begin(kSame), std::end(kSame), name) != std::end(kSame)) return first;
  if (name == "sum_over_time") return SumOf(first);
  if (name == "quantile_over_time" && arguments.size() > 1) {
    return first.low >= 0 && first.high <= 1 ? arguments[1] : ValueRange();
  }
  if (name == "abs") {
    const double least = first.low > 0 ? first.low : first.high < 0 ? -first.high : 0;
    return Make(least, std::max(std::fabs(first.low), std::fabs(first.high)));
  }
  if (name == "ceil") return Make(std::ceil(first.low), std::ceil(first.high));
  if (name == "floor") return Make(std::floor(first.low), std::floor(first.high));
  const auto clamp_low = [&](const ValueRange& bound) {
    return Make(std::max(first.low, bound.low), std::max(first.high, bound.high));
  };
  const auto clamp_high = [&](const ValueRange& bound) {
    return Make(std::min(first.low, bound.low), std::min(first.high, bound.high));
  };
  if (name == "clamp_min" && arguments.size() > 1) return clamp_low(arguments[1]);
  if (name == "clamp_max" && arguments.size() > 1) return clamp_high(arguments[1]);
  if (name == "clamp" && arguments.size() > 2) return Make(arguments[1].low, arguments[2].high);
  if ((name == "max_of" || name == "min_of") && arguments.size() > 1)
    return name == "max_of" ? clamp_low(arguments[1]) : clamp_high(arguments[1]);
  return {};
}

ValueRange RangeOfAggregate(const lang::AggregateExpr& aggregate, const ValueRange& inner) {
  switch (aggregate.op) {
    case lang::AggregateOp::kCount:
    case lang::AggregateOp::kCountValues:
      return ValueRange::AtLeast(1);
    case lang::AggregateOp::kGroup:
      return ValueRange::Point(1);
    case lang::AggregateOp::kStddev:
    case lang::AggregateOp::kStdvar:
      return ValueRange::AtLeast(0);
    case lang::AggregateOp::kSum:
      return SumOf(inner);
    case lang::AggregateOp::kQuantile:
      return {};
    default:
      return inner;
  }
}

std::string RangeText(const ValueRange& range) {
  // Bounds that stand for rounding errors are not worth their digits.
  const auto text = [](double value) {
    const double rounded = std::round(value * 1e5) / 1e5 + 0.0;  // + 0.0: no -0
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
