#include "services/history/rollup.h"

#include <cmath>

#include "services/model/position.h"

namespace pitwall::history {
namespace {

// The result is NaN only if both values are NaN.
double Least(double a, double b) { return std::isnan(a) || b < a ? b : a; }
double Greatest(double a, double b) { return std::isnan(a) || b > a ? b : a; }

}  // namespace

void MergeInto(RollupRow* row, const RollupRow& later) {
  row->min = Least(row->min, later.min);
  row->max = Greatest(row->max, later.max);
  row->sum += later.sum;
  row->last = later.last;
  row->count += later.count;
}

std::vector<RollupRow> RollUp(std::span<const int64_t> times, std::span<const double> values,
                              size_t tier) {
  if (tier > 0) return Coarser(RollUp(times, values, tier - 1), tier);
  std::vector<RollupRow> out;
  for (size_t i = 0; i < times.size();) {
    const double first = values[i];
    RollupRow row = {FloorTo(times[i], kTiers[0]), first, first, first, first, 1};
    const int64_t end_ns = row.start_ns + kTiers[0];
    for (++i; i < times.size() && times[i] < end_ns; ++i) {
      const double value = values[i];
      MergeInto(&row, {row.start_ns, value, value, value, value, 1});
    }
    out.push_back(row);
  }
  return out;
}

std::vector<RollupRow> Coarser(const std::vector<RollupRow>& rows, size_t tier) {
  std::vector<RollupRow> out;
  for (const RollupRow& row : rows) {
    const int64_t start_ns = FloorTo(row.start_ns, kTiers[tier]);
    if (!out.empty() && out.back().start_ns == start_ns) {
      MergeInto(&out.back(), row);
    } else {
      out.push_back(row);
      out.back().start_ns = start_ns;
    }
  }
  return out;
}

}  // namespace pitwall::history
