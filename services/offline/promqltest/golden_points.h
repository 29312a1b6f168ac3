// Notation for series and points in golden scripts. Extends the notation in series_notation.h with
// promqltest's native histograms, start timestamps, and results without labels.
#pragma once

#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

struct GoldenPoint {
  // kHistogram is a native histogram. The contents of histograms are not parsed.
  enum class Kind { kGap, kValue, kHistogram };
  Kind kind = Kind::kGap;
  double value = 0;

  bool present() const { return kind != Kind::kGap; }
  friend bool operator==(const GoldenPoint& a, const GoldenPoint& b) = default;
};

struct GoldenSeries {
  int line = 0;  // line number in the script, starting at 1
  Labels labels;
  std::vector<GoldenPoint> points;
  bool start_timestamps = false;  // true if a line with start timestamps precedes the series

  bool HasHistogram() const;
};

// Parses `metric{a="b"} 1+2x3 _ stale`. The points may be omitted. InvalidArgument errors state the
// cause without a position.
StatusOr<GoldenSeries> ParseGoldenSeries(std::string_view text);

// Returns one entry per interval. `a+bxn` adds b repeatedly, with the same rounding as in
// Prometheus. The number of points is limited to one million.
StatusOr<std::vector<GoldenPoint>> ParseGoldenPoints(std::string_view text);

// Returns true for lines like `metric{a="b"}@st _ -30s-1mx2 …`. Such a line contains the start
// timestamps for the samples on the next line.
bool IsStartTimestampLine(std::string_view text);
// Parses a start-timestamp line. The result contains the series and the number of points, but not
// the timestamps.
StatusOr<GoldenSeries> ParseStartTimestamps(std::string_view text);

}  // namespace pitwall::offline
