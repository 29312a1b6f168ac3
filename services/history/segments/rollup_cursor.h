// Cursor over the rollups in a window's metric pages. Queries read several windows in parallel,
// metric by metric.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/history/rollup_rows.h"
#include "services/history/segments/metric_pages.h"

namespace pitwall::history {

// Rows of one metric's series in a window. The rows of the series are concatenated, and the rows of
// each series are in time order.
struct PagedRollups {
  std::vector<uint32_t> schemas;     // by series: index into the cursor's schemas
  std::vector<uint32_t> columns;     // by series; ascending within a schema
  std::vector<uint32_t> row_counts;  // indexed by series
  // The values point into the page, so they are valid until the cursor moves to another page.
  RollupColumns rows{.tier_ns = kTiers[kPagedTier], .starts = {}, .counts = {}};
};

// Cursor over the rollups of one window by metric.
class RollupCursor : public MetricCursor {
 public:
  RollupCursor(MetricPages pages, const std::vector<std::string_view>* names)
      : MetricCursor(std::move(pages), MetricPages::kRollups, names) {}
  // Reads the current entry. The result is valid until Next is called again.
  Status Read(PagedRollups* out);

 private:
  // Returns false if the data is malformed.
  bool ReadColumns(BinaryReader& in, PagedRollups* out);
  bool ReadRows(BinaryReader& in, PagedRollups* out);
};

}  // namespace pitwall::history
