// Samples of a range in equal buckets, read from the finest data that is worth it: what charts and
// heat maps are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

// Greatest width of a chart or heat map in pixels.
inline constexpr size_t kMostWidth = 4096;

struct BucketQuery {
  SeriesQuery series;
  size_t width = 800;       // pixels, from 1 to kMostWidth
  int64_t raw_from_ns = 0;  // JobOverview's
};

// Buckets begin at multiples of their length since 1970, so they stay where they are while a live
// chart moves on: one more than the width at most. The length is a multiple of the tier's.
struct BucketGrid {
  TimeRange range;  // grown to whole buckets
  int64_t bucket_ns = 1;
  std::optional<size_t> tier;  // of kTiers; nothing: raw samples
  size_t buckets() const { return static_cast<size_t>((range.to_ns - range.from_ns) / bucket_ns); }
};

// Numbers of an answer, beyond which it is made of rows of two minutes: 1,000 lines of 250 pixels.
inline constexpr uint64_t kMostNumbers = 250'000;
// Samples that are read for an answer at most, where there are rows of two minutes instead.
inline constexpr uint64_t kMostSamplesRead = 4'000'000;
// Shorter ranges are read by what their pixels ask for, however many lines there are.
inline constexpr int64_t kLeastCoarseNs = int64_t{30} * 60 * kNanosPerSecond;

// Of tiers with at least one row a bucket the coarsest, that of two minutes from one row for two
// pixels on; raw samples where there is none, unless they were dropped.
BucketGrid GridOf(const BucketQuery& query);

struct BucketColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<RollupRow> rows;  // start_ns: of the bucket; empty buckets have none
};

// What the grid would read of samples, by two minutes instead: those rows are stored and tell how
// many samples there are. Nothing: the samples are few enough, or the range is short. Else *grid is
// that of the answer.
StatusOr<std::optional<std::vector<BucketColumn>>> ReadCoarse(const History& history,
                                                              const BucketQuery& query,
                                                              BucketGrid* grid);

// Sorted by labels.
StatusOr<std::vector<BucketColumn>> ReadBuckets(const History& history, const BucketQuery& query,
                                                const BucketGrid& grid);

// The same of samples that were read of the grid's range.
std::vector<BucketColumn> BucketsOf(const std::vector<SampleColumn>& columns,
                                    const BucketGrid& grid);

// "raw", "10s", "2m", "30m".
std::string_view TierName(const std::optional<size_t>& tier);

}  // namespace pitwall::history
