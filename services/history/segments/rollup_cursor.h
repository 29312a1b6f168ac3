// Cursor over the rollups in a window's metric pages. Queries read several windows in parallel,
// metric by metric.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

// Cursor over the rollups of one window by metric, in name order. A metric with a large number of
// series is returned in several parts. Not thread-safe.
class RollupCursor {
 public:
  // `names` selects metrics (all if empty) and must outlive the cursor.
  RollupCursor(MetricPages pages, const std::vector<std::string_view>* names)
      : pages_(std::move(pages)), names_(*names) {}
  // Moves to the next part. Returns false at the end.
  StatusOr<bool> Next();
  // The following two functions must be called after Next. Their results are valid until Next is
  // called again.
  std::string_view metric() const { return metric_; }
  Status Read(PagedRollups* out);
  // Returns the schema IDs.
  const std::vector<uint64_t>& schemas() const { return directory_->schemas; }

 private:
  // Opens the next page of rollups that may contain a selected name. Returns false at the end.
  StatusOr<bool> NextPage();
  // Returns false if the data is malformed.
  bool ReadColumns(BinaryReader& in, PagedRollups* out);
  bool ReadRows(BinaryReader& in, PagedRollups* out);
  Status Malformed() const;

  const MetricPages pages_;
  const std::vector<std::string_view>& names_;
  std::shared_ptr<const MetricPages::Directory> directory_;
  size_t next_place_ = 0;
  store::Page place_;
  std::shared_ptr<const std::string> page_;
  BinaryReader in_{{}};
  std::string_view metric_, content_;
};

}  // namespace pitwall::history
