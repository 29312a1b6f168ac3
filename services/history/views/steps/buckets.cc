#include "services/history/views/steps/buckets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/model/value.h"

namespace pitwall::history {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Adds rows in time order to the buckets in which they start. This avoids one division per sample,
// which would take as long as reading the sample.
class Buckets {
 public:
  explicit Buckets(int64_t bucket_ns) : bucket_ns_(bucket_ns) {}
  void Add(RollupRow row) {
    if (row.start_ns < end_ns_ && !rows_.empty()) {
      MergeInto(&rows_.back(), row);
      return;
    }
    row.start_ns = FloorTo(row.start_ns, bucket_ns_);
    end_ns_ = row.start_ns + bucket_ns_;
    rows_.push_back(row);
  }
  std::vector<RollupRow> Take() { return std::move(rows_); }

 private:
  const int64_t bucket_ns_;
  int64_t end_ns_ = 0;  // end of the last bucket
  std::vector<RollupRow> rows_;
};

// 2-minute rows are stored, while 10-second rows are computed from all samples. For one day of data
// from 64 GPUs at 1,000 pixels, 720 stored rows per series replace a total of eleven million
// samples.
constexpr size_t kCoarse = 1;
int64_t TierReach(size_t tier) { return tier == kCoarse ? 2 : 1; }

TimeRange AskedOf(const BucketQuery& query) {
  return {query.series.range.from_ns,
          std::max(query.series.range.to_ns, query.series.range.from_ns + 1)};
}

int64_t PixelOf(const BucketQuery& query) {
  const TimeRange asked = AskedOf(query);
  const auto width = static_cast<int64_t>(std::clamp<size_t>(query.width, 1, kMaxWidth));
  return CeilDivide(asked.to_ns - asked.from_ns, width);
}

BucketGrid GridOfTier(const BucketQuery& query, std::optional<size_t> tier) {
  const TimeRange asked = AskedOf(query);
  const int64_t unit_ns = tier.has_value() ? kTiers[*tier] : 1;
  BucketGrid grid;
  grid.tier = tier;
  // The bucket length depends only on the length of the range, so buckets do not change while a
  // chart scrolls.
  grid.bucket_ns = CeilDivide(PixelOf(query), unit_ns) * unit_ns;
  grid.range = {FloorTo(asked.from_ns, grid.bucket_ns), NextAfter(asked.to_ns - 1, grid.bucket_ns)};
  return grid;
}

std::vector<BucketColumn> BucketsOf(const std::vector<RollupColumn>& columns,
                                    const BucketGrid& grid) {
  std::vector<BucketColumn> out;
  out.reserve(columns.size());
  for (const RollupColumn& column : columns) {
    Buckets buckets(grid.bucket_ns);
    for (const RollupRow& row : column.rows) buckets.Add(row);
    out.push_back({column.labels, column.kind, buckets.Take()});
  }
  return out;
}

}  // namespace

BucketGrid GridOf(const BucketQuery& query) {
  const TimeRange asked = AskedOf(query);
  const int64_t pixel_ns = PixelOf(query);
  std::optional<size_t> found;
  for (size_t tier = 0; tier < kTiers.size(); ++tier) {
    if (kTiers[tier] <= TierReach(tier) * pixel_ns) found = tier;
  }
  if (!found.has_value() && asked.from_ns < query.raw_from_ns) found = 0;
  return GridOfTier(query, found);
}

StatusOr<std::optional<std::vector<BucketColumn>>> ReadCoarse(const History& history,
                                                              const BucketQuery& query,
                                                              BucketGrid* grid) {
  std::optional<std::vector<BucketColumn>> out;
  const int64_t length = grid->range.to_ns - grid->range.from_ns;
  if (grid->tier.value_or(0) >= kCoarse || length < kMinCoarseNs) return out;
  const BucketGrid coarse = GridOfTier(query, kCoarse);
  SeriesQuery read = query.series;
  read.range = coarse.range;
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns, history.Rollups(read, kCoarse));
  uint64_t samples = 0;
  for (const RollupColumn& column : columns) {
    for (const RollupRow& row : column.rows) samples += row.count;
  }
  const uint64_t numbers = std::min<uint64_t>(samples, columns.size() * grid->buckets());
  if (numbers <= kMaxNumbers && samples <= kMaxSamplesRead) return out;
  *grid = coarse;
  out = BucketsOf(columns, coarse);
  return out;
}

StatusOr<std::vector<BucketColumn>> ReadBuckets(const History& history, const BucketQuery& query,
                                                const BucketGrid& grid) {
  SampleQuery read;
  static_cast<SeriesQuery&>(read) = query.series;
  read.range = grid.range;
  if (grid.tier.has_value()) {
    ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns, history.Rollups(read, *grid.tier));
    return BucketsOf(columns, grid);
  }
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(read));
  return BucketsOf(columns, grid);
}

std::vector<BucketColumn> BucketsOf(const std::vector<SampleColumn>& columns,
                                    const BucketGrid& grid) {
  std::vector<BucketColumn> out;
  for (const SampleColumn& column : columns) {
    Buckets buckets(grid.bucket_ns);
    for (size_t i = 0; i < column.times.size(); ++i) {
      const double value = column.values[i];
      if (IsMissing(value) || IsStale(value)) continue;
      buckets.Add({column.times[i], value, value, value, value, 1});
    }
    out.push_back({column.labels, column.kind, buckets.Take()});
  }
  return out;
}

std::string_view TierName(const std::optional<size_t>& tier) {
  static constexpr std::array<std::string_view, kTiers.size()> kNames = {"10s", "2m", "30m"};
  return tier.has_value() ? kNames[*tier] : "raw";
}

}  // namespace pitwall::history
