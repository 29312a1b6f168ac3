// Partials of the families: one struct per family, for kernels.inc only. The code has no branches
// and no 64-bit integer comparisons (SSE2 lacks them), so loops over columns vectorize. A condition
// is a mask of all ones or all zeros.
//
// The file is compiled once per instruction set, each time in a different namespace, so the linker
// cannot mix the versions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "services/model/value.h"

#ifndef PITWALL_KERNELS
#define PITWALL_KERNELS baseline
#endif

namespace pitwall::window::PITWALL_KERNELS {

// Loops over columns have no dependency between iterations, because rows never overlap.
#if defined(__clang__)
#define PITWALL_COLUMNS _Pragma("clang loop vectorize(assume_safety)")
#else
#define PITWALL_COLUMNS _Pragma("GCC ivdep")
#endif

using Mask = int64_t;
// Returns all ones if the condition holds, otherwise zero. The selection is between doubles,
// because GCC vectorizes that on every target if the condition compares doubles.
inline Mask MaskIf(bool condition) {
  return std::bit_cast<Mask>(condition ? std::bit_cast<double>(Mask{-1}) : 0.0);
}
// Returns all ones unless x is MissingValue(). The top bit of d | -d is set for every d except 0.
inline Mask PresentMask(double x) {
  const uint64_t d = std::bit_cast<uint64_t>(x) ^ kMissingBits;
  return -static_cast<Mask>((d | (0 - d)) >> 63);
}
inline Mask NotStaleMask(double x) {
  const uint64_t d = std::bit_cast<uint64_t>(x) ^ kStaleBits;
  return -static_cast<Mask>((d | (0 - d)) >> 63);
}
inline int64_t Select(Mask mask, int64_t yes, int64_t no) { return (yes & mask) | (no & ~mask); }
inline double Select(Mask mask, double yes, double no) {
  return std::bit_cast<double>(
      Select(mask, std::bit_cast<int64_t>(yes), std::bit_cast<int64_t>(no)));
}
// Returns the value if the mask is set, otherwise 0.
inline double Keep(Mask mask, double value) {
  return std::bit_cast<double>(std::bit_cast<int64_t>(value) & mask);
}

// Computes static_cast<double>(d) for d >= 0 without the conversion instruction, whose vector form
// requires AVX-512. Both halves are exact, so their sum is rounded once.
inline double ToDouble(int64_t d) {
  constexpr double kTwo52 = 0x1p52;
  constexpr auto kTwo52Bits = std::bit_cast<uint64_t>(kTwo52);
  const auto u = static_cast<uint64_t>(d);
  const double high = std::bit_cast<double>((u >> 32) | kTwo52Bits) - kTwo52;
  const double low = std::bit_cast<double>((u & 0xffffffffU) | kTwo52Bits) - kTwo52;
  return high * 0x1p32 + low;
}

inline int64_t AsTime(double cell) { return std::bit_cast<int64_t>(cell); }
inline double AsCell(int64_t time) { return std::bit_cast<double>(time); }

// sum + comp is the sum of the samples as if computed in twice the working precision. This is
// Neumaier's summation with the rounding error computed by Knuth's TwoSum, which gives the same
// number without a branch. As in Prometheus, an infinite sum has no compensation.
struct Sums {
  static constexpr uint32_t kFields = 3;
  static constexpr bool kTimed = false;
  double sum = 0, comp = 0, count = 0;

  static Sums Load(const double* f, size_t c, size_t i) { return {f[i], f[c + i], f[2 * c + i]}; }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = sum;
    f[c + i] = comp;
    f[2 * c + i] = count;
  }
  static Sums Single(double x, int64_t /*t*/, Mask present) {
    return {Keep(present, x), 0.0, Keep(present, 1.0)};
  }
  static Sums Merge(const Sums& a, const Sums& b) {
    const double t = a.sum + b.sum;
    const double bb = t - a.sum;
    const double error = (a.sum - (t - bb)) + (b.sum - bb);
    const double c = (a.comp + b.comp) + error;
    // If t is infinite or NaN, the error is too.
    const Mask finite = MaskIf(std::fabs(c) <= std::numeric_limits<double>::max());
    return {t, Keep(finite, c), a.count + b.count};
  }
};

// Merges moments with Chan's formula. A single sample x has mean x and m2 = x - x, which is NaN for
// infinities, as in Prometheus.
struct Moments {
  static constexpr uint32_t kFields = 3;
  static constexpr bool kTimed = false;
  double count = 0, mean = 0, m2 = 0;

  static Moments Load(const double* f, size_t c, size_t i) {
    return {f[i], f[c + i], f[2 * c + i]};
  }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = count;
    f[c + i] = mean;
    f[2 * c + i] = m2;
  }
  static Moments Single(double x, int64_t /*t*/, Mask present) {
    return {Keep(present, 1.0), Keep(present, x), Keep(present, x - x)};
  }
  static Moments Merge(const Moments& a, const Moments& b) {
    const double n = a.count + b.count;
    const double share = b.count / (n > 1.0 ? n : 1.0);
    const double delta = b.mean - a.mean;
    // The product is delta * (delta * w) instead of delta² * w, because for w = 0 the square could
    // overflow and give Inf * 0.
    return {n, a.mean + delta * share, (a.m2 + b.m2) + delta * (delta * (a.count * share))};
  }
};

// As in Prometheus, any number is preferred to NaN, and the result is NaN only if there are no
// numbers. Of two equal values, the first is kept.
template <bool kIsMax>
struct Extreme {
  static constexpr uint32_t kFields = 1;
  static constexpr bool kTimed = false;
  double value = MissingValue();

  static Extreme Load(const double* f, size_t /*c*/, size_t i) { return {f[i]}; }
  void Store(double* f, size_t /*c*/, size_t i) const { f[i] = value; }
  static Extreme Single(double x, int64_t /*t*/, Mask /*present*/) { return {x}; }
  static Extreme Merge(const Extreme& a, const Extreme& b) {
    const Mask better = MaskIf(kIsMax ? b.value > a.value : b.value < a.value);
    const Mask take = better | (MaskIf(a.value != a.value) & PresentMask(b.value));
    return {Select(take, b.value, a.value)};
  }
};

struct First {
  static constexpr uint32_t kFields = 1;
  static constexpr bool kTimed = false;
  double value = MissingValue();

  static First Load(const double* f, size_t /*c*/, size_t i) { return {f[i]}; }
  void Store(double* f, size_t /*c*/, size_t i) const { f[i] = value; }
  static First Single(double x, int64_t /*t*/, Mask /*present*/) { return {x}; }
  static First Merge(const First& a, const First& b) {
    return {Select(PresentMask(a.value), a.value, b.value)};
  }
};

struct Last {
  static constexpr uint32_t kFields = 1;
  static constexpr bool kTimed = false;
  double value = MissingValue();

  static Last Load(const double* f, size_t /*c*/, size_t i) { return {f[i]}; }
  void Store(double* f, size_t /*c*/, size_t i) const { f[i] = value; }
  static Last Single(double x, int64_t /*t*/, Mask /*present*/) { return {x}; }
  static Last Merge(const Last& a, const Last& b) {
    return {Select(PresentMask(b.value), b.value, a.value)};
  }
};

// The correction is a quarter of the sum of the values before resets. The full sum could overflow
// even if the increase, which subtracts the first value, is finite. A quarter is exact and
// overflows later.
struct Counter {
  static constexpr uint32_t kFields = 6;
  static constexpr bool kTimed = true;
  double first = 0, last = 0, count = 0, correction = 0;
  int64_t first_time = 0, last_time = 0;

  static Counter Load(const double* f, size_t c, size_t i) {
    return {f[i], f[c + i], f[2 * c + i], f[3 * c + i], AsTime(f[4 * c + i]), AsTime(f[5 * c + i])};
  }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = first;
    f[c + i] = last;
    f[2 * c + i] = count;
    f[3 * c + i] = correction;
    f[4 * c + i] = AsCell(first_time);
    f[5 * c + i] = AsCell(last_time);
  }
  static Counter Single(double x, int64_t t, Mask present) {
    return {Keep(present, x), Keep(present, x), Keep(present, 1.0), 0.0, t & present, t & present};
  }
  static Counter Merge(const Counter& a, const Counter& b) {
    const Mask has_a = MaskIf(a.count > 0), has_b = MaskIf(b.count > 0);
    const Mask reset = has_a & has_b & MaskIf(b.first < a.last);
    return {Select(has_a, a.first, b.first),
            Select(has_b, b.last, a.last),
            a.count + b.count,
            (a.correction + b.correction) + Keep(reset, a.last * 0.25),
            Select(has_a, a.first_time, b.first_time),
            Select(has_b, b.last_time, a.last_time)};
  }
};

struct Steps {
  static constexpr uint32_t kFields = 5;
  static constexpr bool kTimed = false;
  double first = 0, last = 0, count = 0, resets = 0, changes = 0;

  static Steps Load(const double* f, size_t c, size_t i) {
    return {f[i], f[c + i], f[2 * c + i], f[3 * c + i], f[4 * c + i]};
  }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = first;
    f[c + i] = last;
    f[2 * c + i] = count;
    f[3 * c + i] = resets;
    f[4 * c + i] = changes;
  }
  static Steps Single(double x, int64_t /*t*/, Mask present) {
    return {Keep(present, x), Keep(present, x), Keep(present, 1.0), 0.0, 0.0};
  }
  static Steps Merge(const Steps& a, const Steps& b) {
    const Mask has_a = MaskIf(a.count > 0), has_b = MaskIf(b.count > 0);
    const Mask both = has_a & has_b;
    const Mask nans = MaskIf(a.last != a.last) & MaskIf(b.first != b.first);
    return {Select(has_a, a.first, b.first), Select(has_b, b.last, a.last), a.count + b.count,
            (a.resets + b.resets) + Keep(both & MaskIf(b.first < a.last), 1.0),
            (a.changes + b.changes) + Keep(both & MaskIf(b.first != a.last) & ~nans, 1.0)};
  }
};

struct Pair {
  static constexpr uint32_t kFields = 5;
  static constexpr bool kTimed = true;
  double last = 0, previous = 0, count = 0;
  int64_t last_time = 0, previous_time = 0;

  static Pair Load(const double* f, size_t c, size_t i) {
    return {f[i], f[c + i], f[2 * c + i], AsTime(f[3 * c + i]), AsTime(f[4 * c + i])};
  }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = last;
    f[c + i] = previous;
    f[2 * c + i] = count;
    f[3 * c + i] = AsCell(last_time);
    f[4 * c + i] = AsCell(previous_time);
  }
  static Pair Single(double x, int64_t t, Mask present) {
    return {Keep(present, x), 0.0, Keep(present, 1.0), t & present, 0};
  }
  static Pair Merge(const Pair& a, const Pair& b) {
    const Mask some = MaskIf(b.count > 0), two = MaskIf(b.count > 1);
    return {Select(some, b.last, a.last), Select(two, b.previous, Select(some, a.last, a.previous)),
            a.count + b.count, Select(some, b.last_time, a.last_time),
            Select(two, b.previous_time, Select(some, a.last_time, a.previous_time))};
  }
};

struct Latest {
  static constexpr uint32_t kFields = 2;
  static constexpr bool kTimed = true;
  double value = MissingValue();
  int64_t time = 0;

  static Latest Load(const double* f, size_t c, size_t i) { return {f[i], AsTime(f[c + i])}; }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = value;
    f[c + i] = AsCell(time);
  }
  static Latest Single(double x, int64_t t, Mask /*present*/) { return {x, t}; }
  static Latest Merge(const Latest& a, const Latest& b) {
    const Mask some = PresentMask(b.value);
    return {Select(some, b.value, a.value), Select(some, b.time, a.time)};
  }
};

// As in Prometheus's ts_of_max_over_time, any number is preferred to NaN, and of two equal values
// the later one is kept.
template <bool kIsMax>
struct ExtremeAt {
  static constexpr uint32_t kFields = 2;
  static constexpr bool kTimed = true;
  double value = MissingValue();
  int64_t time = 0;

  static ExtremeAt Load(const double* f, size_t c, size_t i) { return {f[i], AsTime(f[c + i])}; }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = value;
    f[c + i] = AsCell(time);
  }
  static ExtremeAt Single(double x, int64_t t, Mask /*present*/) { return {x, t}; }
  static ExtremeAt Merge(const ExtremeAt& a, const ExtremeAt& b) {
    const Mask better = MaskIf(kIsMax ? b.value >= a.value : b.value <= a.value);
    const Mask take = (better | MaskIf(a.value != a.value)) & PresentMask(b.value);
    return {Select(take, b.value, a.value), Select(take, b.time, a.time)};
  }
};

// Least squares over (position, value). Means and co-moments are merged with Chan's formula.
// Positions are relative to the first sample to preserve precision.
struct Regression {
  static constexpr uint32_t kFields = 8;
  static constexpr bool kTimed = true;
  double count = 0, first = 0;
  int64_t first_time = 0;
  double mean_t = 0, mean_y = 0;  // seconds since first_time
  double co_tt = 0, co_ty = 0;    // sums of products of deviations
  double varies = 0;              // 1 if the values are not all equal, otherwise 0

  static Regression Load(const double* f, size_t c, size_t i) {
    return {f[i],         f[c + i],     AsTime(f[2 * c + i]), f[3 * c + i],
            f[4 * c + i], f[5 * c + i], f[6 * c + i],         f[7 * c + i]};
  }
  void Store(double* f, size_t c, size_t i) const {
    f[i] = count;
    f[c + i] = first;
    f[2 * c + i] = AsCell(first_time);
    f[3 * c + i] = mean_t;
    f[4 * c + i] = mean_y;
    f[5 * c + i] = co_tt;
    f[6 * c + i] = co_ty;
    f[7 * c + i] = varies;
  }
  static Regression Single(double x, int64_t t, Mask present) {
    // If x is an infinity, no line can be fitted, and x - x is NaN.
    return {Keep(present, 1.0),   Keep(present, x),
            t & present,          0.0,
            Keep(present, x),     0.0,
            Keep(present, x - x), 0.0};
  }
  static Regression Merge(const Regression& a, const Regression& b) {
    const Mask has_a = MaskIf(a.count > 0), has_b = MaskIf(b.count > 0);
    const Mask both = has_a & has_b;
    const double n = a.count + b.count;
    const double share = b.count / (n > 1.0 ? n : 1.0);
    const double apart = Keep(both, ToDouble((b.first_time - a.first_time) & both) / 1e9);
    const double delta_t = (b.mean_t + apart) - a.mean_t;
    const double delta_y = b.mean_y - a.mean_y;
    const double weight = a.count * share;
    const double differs = Keep(both & MaskIf(b.first != a.first), 1.0);
    const double varies = a.varies + b.varies + differs;
    return {n,
            Select(has_a, a.first, b.first),
            Select(has_a, a.first_time, b.first_time),
            a.mean_t + delta_t * share,
            a.mean_y + delta_y * share,
            (a.co_tt + b.co_tt) + delta_t * (delta_t * weight),
            (a.co_ty + b.co_ty) + delta_t * (delta_y * weight),
            Keep(MaskIf(varies > 0), 1.0)};
  }
};

}  // namespace pitwall::window::PITWALL_KERNELS
