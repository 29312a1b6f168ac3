#include "services/history/windows/window_summary.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace pitwall::history {

TierRows RollUp(const SeriesRows& rows) {
  TierRows out;
  out[0] = RollUp(rows.times, rows.values, 0);
  out[1] = Coarser(out[0], 1);
  return out;
}

void Spread::Add(const SeriesRows& rows, int64_t from_ns, int64_t to_ns) {
  const auto begin = rows.times.begin();
  const auto first = std::lower_bound(begin, rows.times.end(), from_ns);
  const auto last = std::lower_bound(first, rows.times.end(), to_ns);
  Add(std::span<const double>(rows.values)
          .subspan(static_cast<size_t>(first - begin), static_cast<size_t>(last - first)));
}

void Spread::Add(std::span<const double> values) {
  sketch.AddAll(values);
  for (const double value : values) {
    if (!std::isnan(value)) sum += value;
  }
}

void Spread::Merge(const Spread& later) {
  sketch.Merge(later.sketch);
  sum += later.sum;
}

Spread* SpreadOf(Spreads* spreads, const Labels& labels) {
  const std::string_view metric = labels.Name();
  return &spreads
              ->try_emplace({std::string(labels.Get("node")), std::string(metric)},
                            Spread{Sketch(IsRatioName(metric)), 0})
              .first->second;
}

void SaveRows(const std::vector<RollupRow>& rows, BinaryWriter& out) {
  out.U64(rows.size());
  int64_t before = 0;
  for (const RollupRow& row : rows) {
    out.I64(row.start_ns - before);
    before = row.start_ns;
  }
  for (const RollupRow& row : rows) out.U64(row.count);
  for (const RollupRow& row : rows) out.Double(row.min);
  for (const RollupRow& row : rows) out.Double(row.max);
  for (const RollupRow& row : rows) out.Double(row.last);
  for (const RollupRow& row : rows) out.Double(row.sum);
}

std::vector<RollupRow> RestoreRows(BinaryReader& in) {
  std::vector<RollupRow> rows(in.Count(34));
  int64_t before = 0;
  for (RollupRow& row : rows) {
    before += in.I64();
    row.start_ns = before;
  }
  for (RollupRow& row : rows) row.count = static_cast<uint32_t>(in.U64());
  for (RollupRow& row : rows) row.min = in.Double();
  for (RollupRow& row : rows) row.max = in.Double();
  for (RollupRow& row : rows) row.last = in.Double();
  for (RollupRow& row : rows) row.sum = in.Double();
  return rows;
}

}  // namespace pitwall::history
