#include "services/query/window_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/model/value.h"
#include "services/model/windows/function_table.h"

namespace pitwall::query {
namespace {

using Values = std::span<const double>;

// Neumaier summation, equivalent to kahansum.Inc in Prometheus. The compensation is dropped once
// the sum is infinite.
struct KahanSum {
  double sum = 0;
  double rest = 0;

  void Add(double x) {
    const double t = sum + x;
    if (std::isinf(t)) {
      rest = 0;
    } else if (std::fabs(sum) >= std::fabs(x)) {
      rest += (sum - t) + x;
    } else {
      rest += (x - t) + sum;
    }
    sum = t;
  }
  double Total() const { return sum + rest; }
};

double Sum(Values values) {
  KahanSum sum;
  for (const double x : values) sum.Add(x);
  return std::isinf(sum.sum) ? sum.sum : sum.Total();
}

// Returns the mean of the values. Switches to an incremental mean if the sum overflows.
double Average(Values values) {
  KahanSum sum{values[0], 0};
  bool moves = false;
  double count = 1;
  for (size_t i = 1; i < values.size(); ++i) {
    count = static_cast<double>(i + 1);
    if (!moves) {
      KahanSum next = sum;
      next.Add(values[i]);
      if (!std::isinf(next.sum)) {
        sum = next;
        continue;
      }
      moves = true;
      sum.sum /= count - 1;
      sum.rest /= count - 1;
    }
    const double share = (count - 1) / count;
    KahanSum mean{share * sum.sum, share * sum.rest};
    mean.Add(values[i] / count);
    sum = mean;
  }
  return moves ? sum.Total() : sum.sum / count + sum.rest / count;
}

double Variance(Values values) {
  double count = 0;
  KahanSum mean, squares;
  for (const double x : values) {
    count += 1;
    const double delta = x - mean.Total();
    mean.Add(delta / count);
    squares.Add(delta * (x - mean.Total()));
  }
  return squares.Total() / count;
}

// Returns the index of the extreme value. If several values are equal, returns the first index, or
// the last if `later` is true.
template <typename Better>
size_t Extreme(Values values, Better better) {
  size_t best = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (better(values[i], values[best]) || std::isnan(values[best])) best = i;
  }
  return best;
}

// Returns the quantile of the values in `scratch`, and reorders `scratch`. NaN sorts before all
// numbers.
double Quantile(double phi, std::vector<double>* scratch) {
  if (scratch->empty() || std::isnan(phi)) return NormalNan();
  if (phi < 0) return -std::numeric_limits<double>::infinity();
  if (phi > 1) return std::numeric_limits<double>::infinity();
  const auto less = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
  const auto n = static_cast<double>(scratch->size());
  const double rank = phi * (n - 1);
  const double lower = std::max(0.0, std::floor(rank));
  const double upper = std::min(n - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  const auto at = scratch->begin() + static_cast<ptrdiff_t>(lower);
  std::nth_element(scratch->begin(), at, scratch->end(), less);
  const double below = *at;
  const double above = upper > lower ? *std::min_element(at + 1, scratch->end(), less) : below;
  return below * (1 - weight) + above * weight;
}

double MedianDeviation(Values values, std::vector<double>* scratch) {
  for (const double x : values) {
    if (std::isnan(x)) return NormalNan();
  }
  scratch->assign(values.begin(), values.end());
  const double median = Quantile(0.5, scratch);
  for (double& x : *scratch) x = std::fabs(x - median);
  return Quantile(0.5, scratch);
}

// Equivalent to Go's time.Duration.Seconds.
double Length(int64_t nanos) {
  return static_cast<double>(nanos / 1'000'000'000) +
         static_cast<double>(nanos % 1'000'000'000) / 1e9;
}

double Apart(int64_t from, int64_t to) { return static_cast<double>(to - from) / 1e9; }

std::optional<double> Rate(const SampleWindow& w, bool counter, bool per_second) {
  const size_t n = w.values.size();
  if (n < 2) return std::nullopt;
  double result = w.values[n - 1] - w.values[0];
  if (counter) {
    for (size_t i = 1; i < n; ++i) {
      if (w.values[i] < w.values[i - 1]) result += w.values[i - 1];
    }
  }
  double to_start = Apart(w.begin, w.times[0]);
  double to_end = Apart(w.times[n - 1], w.end);
  const double sampled = Apart(w.times[0], w.times[n - 1]);
  const double average = sampled / static_cast<double>(n - 1);
  const double threshold = average * 1.1;
  if (to_start >= threshold) to_start = average / 2;
  if (counter) {
    double to_zero = to_start;
    if (result > 0 && w.values[0] >= 0) to_zero = sampled * (w.values[0] / result);
    if (to_zero < to_start) to_start = to_zero;
  }
  if (to_end >= threshold) to_end = average / 2;
  double factor = 1;
  if (sampled != 0) factor = (sampled + to_start + to_end) / sampled;
  if (per_second) factor /= Length(w.end - w.begin);
  return result * factor;
}

std::optional<double> LastStep(const SampleWindow& w, bool per_second) {
  const size_t n = w.values.size();
  if (n < 2) return std::nullopt;
  const double before = w.values[n - 2], last = w.values[n - 1];
  if (!per_second) return last - before;
  return (last < before ? last : last - before) / Apart(w.times[n - 2], w.times[n - 1]);
}

// Least-squares regression line, described by its slope and its value at time `at`.
struct Line {
  double slope = 0;
  double value = 0;
};
Line LeastSquares(const SampleWindow& w, int64_t at) {
  KahanSum x_sum, y_sum, xy_sum, xx_sum;
  double n = 0;
  bool flat = true;
  for (size_t i = 0; i < w.values.size(); ++i) {
    const double y = w.values[i];
    if (i > 0 && y != w.values[0]) flat = false;
    n += 1;
    const double x = Apart(at, w.times[i]);
    x_sum.Add(x);
    y_sum.Add(y);
    xy_sum.Add(x * y);
    xx_sum.Add(x * x);
  }
  if (flat) {
    if (std::isinf(w.values[0])) return {NormalNan(), NormalNan()};
    return {0, w.values[0]};
  }
  const double sum_x = x_sum.Total(), sum_y = y_sum.Total();
  const double covariance = xy_sum.Total() - sum_x * sum_y / n;
  const double variance = xx_sum.Total() - sum_x * sum_x / n;
  Line line;
  line.slope = covariance / variance;
  line.value = sum_y / n - line.slope * sum_x / n;
  return line;
}

std::optional<double> Smoothed(Values values, double smoothing, double trend) {
  if (values.size() < 2 || !(smoothing > 0 && smoothing < 1) || !(trend > 0 && trend < 1))
    return std::nullopt;
  double before = 0, now = values[0], slope = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const double x = smoothing * values[i];
    if (i > 1) {
      const double a = trend * (now - before);
      const double b = (1 - trend) * slope;
      slope = a + b;
    }
    const double y = (1 - smoothing) * (now + slope);
    before = now;
    now = x + y;
  }
  return now;
}

double Resets(Values values) {
  double count = 0;
  for (size_t i = 1; i < values.size(); ++i) count += values[i] < values[i - 1] ? 1 : 0;
  return count;
}

double Changes(Values values) {
  double count = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const double a = values[i - 1], b = values[i];
    count += b != a && !(std::isnan(a) && std::isnan(b)) ? 1 : 0;
  }
  return count;
}

}  // namespace

double PositionSeconds(int64_t position) {
  if (position % 1'000'000 == 0) return static_cast<double>(position / 1'000'000) / 1000;
  return static_cast<double>(position) / 1e9;
}

bool CanScan(WindowFunction function) {
  return RowOf(function).summary.empty() && function != WindowFunction::kSketchQuantile;
}

std::optional<double> ScanWindow(WindowFunction function, const SampleWindow& w,
                                 std::span<const double> arguments, std::vector<double>* scratch) {
  const auto at = [&](size_t i) { return PositionSeconds(w.times[i]); };
  switch (function) {
    case WindowFunction::kLast:
    case WindowFunction::kLastOverTime:
      return w.values.back();
    case WindowFunction::kTimestamp:
    case WindowFunction::kTsOfLast:
      return at(w.values.size() - 1);
    case WindowFunction::kFirstOverTime:
      return w.values.front();
    case WindowFunction::kTsOfFirst:
      return at(0);
    case WindowFunction::kSum:
      return Sum(w.values);
    case WindowFunction::kAvg:
      return Average(w.values);
    case WindowFunction::kCount:
      return static_cast<double>(w.values.size());
    case WindowFunction::kPresent:
      return 1;
    case WindowFunction::kStdvar:
      return Variance(w.values);
    case WindowFunction::kStddev:
      return std::sqrt(Variance(w.values));
    case WindowFunction::kMin:
      return w.values[Extreme(w.values, [](double x, double best) { return x < best; })];
    case WindowFunction::kMax:
      return w.values[Extreme(w.values, [](double x, double best) { return x > best; })];
    case WindowFunction::kTsOfMin:
      return at(Extreme(w.values, [](double x, double best) { return x <= best; }));
    case WindowFunction::kTsOfMax:
      return at(Extreme(w.values, [](double x, double best) { return x >= best; }));
    case WindowFunction::kRate:
      return Rate(w, /*counter=*/true, /*per_second=*/true);
    case WindowFunction::kIncrease:
      return Rate(w, /*counter=*/true, /*per_second=*/false);
    case WindowFunction::kDelta:
      return Rate(w, /*counter=*/false, /*per_second=*/false);
    case WindowFunction::kIrate:
      return LastStep(w, /*per_second=*/true);
    case WindowFunction::kIdelta:
      return LastStep(w, /*per_second=*/false);
    case WindowFunction::kResets:
      return Resets(w.values);
    case WindowFunction::kChanges:
      return Changes(w.values);
    case WindowFunction::kDeriv:
      if (w.values.size() < 2) return std::nullopt;
      return LeastSquares(w, w.times[0]).slope;
    case WindowFunction::kIntercept:
      if (w.values.size() < 2) return std::nullopt;
      return LeastSquares(w, w.tick).value;
    case WindowFunction::kQuantile:
      scratch->assign(w.values.begin(), w.values.end());
      return Quantile(arguments[0], scratch);
    case WindowFunction::kMad:
      return MedianDeviation(w.values, scratch);
    case WindowFunction::kSmoothing:
      return Smoothed(w.values, arguments[0], arguments[1]);
    default:
      return std::nullopt;  // CanScan excludes these functions
  }
}

}  // namespace pitwall::query
