// Notation of series and points in golden scripts: that of series_notation.h with the extensions of
// the scripts (native histograms, start timestamps, results without labels).
#pragma once

#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

struct GoldenPoint {
  // kHistogram: a native histogram, whose content is not parsed.
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
  bool start_timestamps = false;  // whether a line of start timestamps precedes the series

  bool HasHistogram() const;
};

// Parses `metric{a="b"} 1+2x3 _ stale`; the points may be missing. InvalidArgument states the cause
// without a position.
StatusOr<GoldenSeries> ParseGoldenSeries(std::string_view text);

// One entry per interval. `a+bxn` adds b repeatedly, with the same rounding as in Prometheus. At
// most a million points.
StatusOr<std::vector<GoldenPoint>> ParseGoldenPoints(std::string_view text);

// Parses `metric{a="b"}@st _ -30s-1mx2 …`: start timestamps of the samples in the next line.
bool IsStartTimestampLine(std::string_view text);
// Number of points of such a line, and its series; the timestamps are discarded.
StatusOr<GoldenSeries> ParseStartTimestamps(std::string_view text);

}  // namespace pitwall::offline
