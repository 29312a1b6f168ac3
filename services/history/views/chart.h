// Lines of a chart: as many points as its pixels can show, with gaps where there is no data.
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
  size_t width = 800;    // pixels, from 1 to kMaxWidth
  bool by_step = false;  // x is the step instead of the time
  std::string mode;      // for by_step: mode of the steps
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  ReadLimits limits;
};

// NaN in all three: a gap.
struct ChartRow {
  int64_t at = 0;  // time in ns, or step: of the sample, or start of the bucket
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
  int64_t from = 0;  // the range read, [from, to)
  int64_t to = 0;
  std::optional<size_t> tier;  // index into kTiers; nothing: raw samples
  int64_t bucket = 0;          // ns or steps; 0: individual samples
  std::vector<ChartColumn> columns;
};

// A gap occurs where samples are missing for more than three times their typical distance, and at
// the start of an attempt. Returns at most `width` + 1 rows per series, except gaps.
StatusOr<Chart> MakeChart(const History& history, const ChartQuery& query);

}  // namespace pitwall::history
