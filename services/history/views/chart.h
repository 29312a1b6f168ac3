// Lines of a chart: as many numbers as its pixels can show, and no line where there are no data.
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
  size_t width = 800;    // pixels, from 1 to kMostWidth
  bool by_step = false;  // x is the step instead of the time
  std::string mode;      // by_step: of the steps
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  ReadLimits limits;
};

// NaN in all three: a gap.
struct ChartRow {
  int64_t at = 0;  // time in ns, or step: of the sample, or where the bucket begins
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
  int64_t from = 0;  // what was read, [from, to)
  int64_t to = 0;
  std::optional<size_t> tier;  // of kTiers; nothing: raw samples
  int64_t bucket = 0;          // ns or steps; 0: the samples themselves
  std::vector<ChartColumn> columns;
};

// A gap is where samples stop for more than three times their usual distance, and where an attempt
// begins. At most `width` + 1 rows a series, gaps apart.
StatusOr<Chart> MakeChart(const History& history, const ChartQuery& query);

}  // namespace pitwall::history
