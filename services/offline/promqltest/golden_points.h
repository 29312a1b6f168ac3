// The notation of series and points in golden scripts: that of series_notation.h with what only the
// scripts have (native histograms, start timestamps, results without labels).
#pragma once

#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

struct GoldenPoint {
  // kHistogram: a native histogram is there, its content is not read.
  enum class Kind { kGap, kValue, kHistogram };
  Kind kind = Kind::kGap;
  double value = 0;

  bool present() const { return kind != Kind::kGap; }
  friend bool operator==(const GoldenPoint& a, const GoldenPoint& b) = default;
};

struct GoldenSeries {
  int line = 0;  // in the script, from 1
  Labels labels;
  std::vector<GoldenPoint> points;
  bool start_timestamps = false;  // a line of them is before the series

  bool HasHistogram() const;
};

// `metric{a="b"} 1+2x3 _ stale`; the points may be missing. InvalidArgument says what is wrong,
// without a place.
StatusOr<GoldenSeries> ParseGoldenSeries(std::string_view text);

// One per interval. `a+bxn` adds b again and again, as Prometheus does, so that its rounding is
// ours. At most a million points.
StatusOr<std::vector<GoldenPoint>> ParseGoldenPoints(std::string_view text);

// `metric{a="b"}@st _ -30s-1mx2 …`: start timestamps of the samples in the line that follows.
bool IsStartTimestampLine(std::string_view text);
// How many points such a line covers, and of which series; the timestamps themselves are not kept.
StatusOr<GoldenSeries> ParseStartTimestamps(std::string_view text);

}  // namespace pitwall::offline
