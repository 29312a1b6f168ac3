#include "services/insights/views/buckets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/model/value.h"

namespace pitwall::insights {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Adds a row to the bucket that it begins in.
void AddTo(std::vector<RollupRow>* rows, int64_t bucket_ns, RollupRow row) {
  row.start_ns = FloorTo(row.start_ns, bucket_ns);
  if (!rows->empty() && rows->back().start_ns == row.start_ns) {
    MergeInto(&rows->back(), row);
  } else {
    rows->push_back(row);
  }
}

}  // namespace

BucketGrid GridOf(const BucketQuery& query) {
  const TimeRange asked = {query.series.range.from_ns,
                           std::max(query.series.range.to_ns, query.series.range.from_ns + 1)};
  const auto width = static_cast<int64_t>(std::clamp<size_t>(query.width, 1, kMostWidth));
  const int64_t pixel_ns = CeilDivide(asked.to_ns - asked.from_ns, width);
  BucketGrid grid;
  for (size_t tier = 0; tier < kTiers.size(); ++tier) {
    if (kTiers[tier] <= pixel_ns) grid.tier = tier;
  }
  if (!grid.tier.has_value() && asked.from_ns < query.raw_from_ns) grid.tier = 0;
  const int64_t unit_ns = grid.tier.has_value() ? kTiers[*grid.tier] : 1;
  // By the length of the range alone: a chart that moves on keeps its buckets.
  grid.bucket_ns = CeilDivide(pixel_ns, unit_ns) * unit_ns;
  grid.range = {FloorTo(asked.from_ns, grid.bucket_ns), NextAfter(asked.to_ns - 1, grid.bucket_ns)};
  return grid;
}

StatusOr<std::vector<BucketColumn>> ReadBuckets(const History& history, const BucketQuery& query,
                                                const BucketGrid& grid) {
  std::vector<BucketColumn> out;
  SampleQuery read;
  static_cast<SeriesQuery&>(read) = query.series;
  read.range = grid.range;
  if (grid.tier.has_value()) {
    ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns, history.Rollups(read, *grid.tier));
    for (const RollupColumn& column : columns) {
      BucketColumn& into = out.emplace_back(BucketColumn{column.labels, column.kind, {}});
      for (const RollupRow& row : column.rows) AddTo(&into.rows, grid.bucket_ns, row);
    }
    return out;
  }
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(read));
  for (const SampleColumn& column : columns) {
    BucketColumn& into = out.emplace_back(BucketColumn{column.labels, column.kind, {}});
    for (size_t i = 0; i < column.times_ns.size(); ++i) {
      const double value = column.values[i];
      if (IsMissing(value) || IsStale(value)) continue;
      AddTo(&into.rows, grid.bucket_ns, {column.times_ns[i], value, value, value, value, 1});
    }
  }
  return out;
}

std::string_view TierName(const std::optional<size_t>& tier) {
  static constexpr std::array<std::string_view, kTiers.size()> kNames = {"10s", "2m", "30m"};
  return tier.has_value() ? kNames[*tier] : "raw";
}

}  // namespace pitwall::insights
