// Summary of a window, without its rows. It contains the rollups of each series and the
// distribution of each metric. It depends only on the window's rows, so it is bit-identical
// regardless of when it is computed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/history/rollup.h"
#include "services/history/windows/sketch.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// Number of tiers that fit into a window. The coarsest tier is computed from them.
inline constexpr size_t kWindowTiers = 2;

using TierRows = std::array<std::vector<RollupRow>, kWindowTiers>;
TierRows RollUp(const SeriesRows& rows);

// Distribution and sum of a metric's values. The sum depends on the addition order.
struct Spread {
  Sketch sketch;
  double sum = 0;
  void Add(std::span<const double> values);
  void Add(const SeriesRows& rows, int64_t from_ns, int64_t to_ns);
  void Merge(const Spread& later);
};
// Spreads by (node, metric).
using Spreads = std::map<std::pair<std::string, std::string>, Spread>;
Spread* SpreadOf(Spreads* spreads, const Labels& labels);

void SaveRows(const std::vector<RollupRow>& rows, BinaryWriter& out);
std::vector<RollupRow> RestoreRows(BinaryReader& in);

}  // namespace pitwall::history
