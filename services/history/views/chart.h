// Chart lines with at most one point per pixel, and with gaps where data is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct ChartQuery {
  JobLifePtr job;
  std::vector<Selector> selectors;
  TimeRange range;
  size_t width = 800;    // in pixels, from 1 to kMaxWidth
  bool by_step = false;  // whether x is the step instead of the time
  std::string mode;      // mode of the steps if by_step is set
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  ReadLimits limits;
};

// Point on a line. If all three values are NaN, the point is a gap.
struct ChartRow {
  int64_t at = 0;  // time in ns or step, of the sample or of the bucket's start
  double min = 0;
  double max = 0;
  double last = 0;
};

struct ChartColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<ChartRow> rows;  // strictly ascending
};

struct Chart {
  bool by_step = false;
  int64_t from = 0;  // range that was read: [from, to)
  int64_t to = 0;
  std::optional<size_t> tier;  // index into kTiers; no value means raw samples
  int64_t bucket = 0;          // bucket length in ns or steps; 0 for individual samples
  std::vector<ChartColumn> columns;
};

// Reads the lines of a chart. A line has a gap at the start of each attempt, and wherever samples
// are missing for more than three times the typical sample interval. Returns at most `width` + 1
// rows per series, not counting gaps.
StatusOr<Chart> MakeChart(const History& history, const ChartQuery& query);

}  // namespace pitwall::history
