// Samples in a range, grouped into equal buckets for charts and heat maps. The buckets are computed
// from the coarsest data that suffices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

// Maximum width of a chart or heat map in pixels.
inline constexpr size_t kMaxWidth = 4096;

struct BucketQuery {
  SeriesQuery series;
  size_t width = 800;       // in pixels, from 1 to kMaxWidth
  int64_t raw_from_ns = 0;  // see JobOverview
};

// Buckets start at multiples of their length since 1970, so they do not move while a live chart
// advances. The number of buckets exceeds the width by at most one. The length is a multiple of the
// tier's length.
struct BucketGrid {
  TimeRange range;  // range extended to whole buckets
  int64_t bucket_ns = 1;
  std::optional<size_t> tier;  // index into kTiers; no value means raw samples
  size_t buckets() const { return static_cast<size_t>((range.to_ns - range.from_ns) / bucket_ns); }
};

// Maximum number of values in a response, equal to 1,000 lines of 250 pixels. Larger responses use
// 2-minute rows.
inline constexpr uint64_t kMaxNumbers = 250'000;
// Maximum number of samples read for a response if 2-minute rows are available.
inline constexpr uint64_t kMaxSamplesRead = 4'000'000;
// Shorter ranges are read at pixel resolution, regardless of the number of lines.
inline constexpr int64_t kMinCoarseNs = int64_t{30} * 60 * kNanosPerSecond;

// Chooses the coarsest tier that has at least one row per bucket. For 2-minute rows, one row per
// two pixels suffices. If no tier is suitable, chooses raw samples unless they were dropped.
BucketGrid GridOf(const BucketQuery& query);

struct BucketColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<RollupRow> rows;  // start_ns is the start of the bucket; empty buckets have no row
};

// Reads 2-minute rows instead of samples. These rows are stored, and their counts give the number
// of samples. Returns no value if there are few enough samples or if the range is short. Otherwise,
// replaces *grid with the grid of the result.
StatusOr<std::optional<std::vector<BucketColumn>>> ReadCoarse(const History& history,
                                                              const BucketQuery& query,
                                                              BucketGrid* grid);

// Reads the buckets of the series, sorted by labels.
StatusOr<std::vector<BucketColumn>> ReadBuckets(const History& history, const BucketQuery& query,
                                                const BucketGrid& grid);

// Returns the buckets of samples that were already read for the grid's range.
std::vector<BucketColumn> BucketsOf(const std::vector<SampleColumn>& columns,
                                    const BucketGrid& grid);

// Returns "raw", "10s", "2m", or "30m".
std::string_view TierName(const std::optional<size_t>& tier);

}  // namespace pitwall::history
