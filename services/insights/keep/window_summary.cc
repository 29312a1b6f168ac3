#include "services/insights/keep/window_summary.h"

#include <cmath>

namespace pitwall::insights {

TierRows RollUp(const SeriesRows& rows) {
  Rollup rollup;
  Rollup::Rows done;
  for (size_t i = 0; i < rows.times_ns.size(); ++i)
    rollup.Add(rows.times_ns[i], rows.values[i], &done);
  rollup.Close(INT64_MAX, &done);
  TierRows out;
  for (size_t tier = 0; tier < kWindowTiers; ++tier) out[tier] = std::move(done[tier]);
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

void Spread::Add(const SeriesRows& rows, int64_t from_ns, int64_t to_ns) {
  for (size_t i = 0; i < rows.times_ns.size(); ++i) {
    if (rows.times_ns[i] < from_ns || rows.times_ns[i] >= to_ns || std::isnan(rows.values[i]))
      continue;
    sketch.Add(rows.values[i]);
    sum += rows.values[i];
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

}  // namespace pitwall::insights
