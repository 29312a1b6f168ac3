// PromQL operators and functions on doubles that return the same results as Go and can be inlined
// in loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/plan/program/program.h"

namespace pitwall::eval {

struct AddOf {
  double operator()(double a, double b) const { return a + b; }
};
struct SubOf {
  double operator()(double a, double b) const { return a - b; }
};
struct MulOf {
  double operator()(double a, double b) const { return a * b; }
};
struct DivOf {
  double operator()(double a, double b) const { return a / b; }
};
struct ModOf {  // the result has the sign of the dividend, as in Go's math.Mod
  double operator()(double a, double b) const { return std::fmod(a, b); }
};
struct PowOf {
  double operator()(double a, double b) const { return std::pow(a, b); }
};
struct Atan2Of {
  double operator()(double a, double b) const { return std::atan2(a, b); }
};

struct EqOf {
  bool operator()(double a, double b) const { return a == b; }
};
struct NeOf {
  bool operator()(double a, double b) const { return a != b; }
};
struct GtOf {
  bool operator()(double a, double b) const { return a > b; }
};
struct LtOf {
  bool operator()(double a, double b) const { return a < b; }
};
struct GeOf {
  bool operator()(double a, double b) const { return a >= b; }
};
struct LeOf {
  bool operator()(double a, double b) const { return a <= b; }
};

// Calls `f` with the functor for an arithmetic operator.
template <typename F>
void WithArithmetic(BinaryOp op, F&& f) {
  switch (op) {
    case BinaryOp::kAdd:
      return f(AddOf{});
    case BinaryOp::kSub:
      return f(SubOf{});
    case BinaryOp::kMul:
      return f(MulOf{});
    case BinaryOp::kDiv:
      return f(DivOf{});
    case BinaryOp::kMod:
      return f(ModOf{});
    case BinaryOp::kPow:
      return f(PowOf{});
    case BinaryOp::kAtan2:
      return f(Atan2Of{});
    default:
      return;
  }
}
// Calls `f` with the functor for a comparison.
template <typename F>
void WithComparison(BinaryOp op, F&& f) {
  switch (op) {
    case BinaryOp::kEq:
      return f(EqOf{});
    case BinaryOp::kNe:
      return f(NeOf{});
    case BinaryOp::kGt:
      return f(GtOf{});
    case BinaryOp::kLt:
      return f(LtOf{});
    case BinaryOp::kGe:
      return f(GeOf{});
    case BinaryOp::kLe:
      return f(LeOf{});
    default:
      return;
  }
}

// Returns `a op b` for two scalars. Comparisons return 0 or 1.
inline double Apply(BinaryOp op, double a, double b) {
  double result = 0;
  if (IsComparison(op)) {
    WithComparison(op, [&](auto f) { result = f(a, b) ? 1 : 0; });
  } else {
    WithArithmetic(op, [&](auto f) { result = f(a, b); });
  }
  return result;
}

// Behave like Go's math.Max and math.Min: +Inf (for Max) or -Inf (for Min) takes precedence over
// NaN, and -0 is less than +0.
inline double GoMax(double x, double y) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (x == kInf || y == kInf) return kInf;
  if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 && y == 0) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
inline double GoMin(double x, double y) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (x == -kInf || y == -kInf) return -kInf;
  if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 && y == 0) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

// Returns a && b without branching, so that loops over presence masks can be vectorized.
inline uint8_t Both(bool a, bool b) {
  return static_cast<uint8_t>(static_cast<int>(a) & static_cast<int>(b));
}

// Adds a value by Kahan summation with Neumaier's improvement, as in Prometheus (util/kahansum).
inline void KahanAdd(double value, double& sum, double& compensation) {
  const double t = sum + value;
  if (std::isinf(t)) {
    compensation = 0;
  } else if (std::fabs(sum) >= std::fabs(value)) {
    compensation += (sum - t) + value;
  } else {
    compensation += (value - t) + sum;
  }
  sum = t;
}

// Returns a tick as the value of PromQL's time(), in seconds or steps.
inline double Seconds(int64_t position) {
  constexpr int64_t kMillis = 1'000'000;
  // Whole milliseconds are converted in the same way as in Prometheus, so the results are
  // bit-identical.
  if (position % kMillis == 0) return static_cast<double>(position / kMillis) / 1000.0;
  return static_cast<double>(position / 1'000'000'000) +
         static_cast<double>(position % 1'000'000'000) / 1e9;
}

}  // namespace pitwall::eval
