// Cursor over the rollups in a window's pages of metrics. Several windows are read side by side,
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

// Rows of the series of one metric in a window: series in sequence, each in time order.
struct PagedRollups {
  std::vector<uint32_t> schemas;     // by series: indexes into the cursor's schemas
  std::vector<uint32_t> columns;     // by series; ascending within a schema
  std::vector<uint32_t> row_counts;  // by series
  // Values are in the page: valid until the cursor's next page.
  RollupColumns rows{.tier_ns = kTiers[kPagedTier], .starts = {}, .counts = {}};
};

// Rollups of one window, metric by metric in the order of names. A metric with very many series is
// returned in several parts. Not thread-safe.
class RollupCursor {
 public:
  // `names`: selected metrics, which must outlive the cursor; all metrics if empty.
  RollupCursor(MetricPages pages, const std::vector<std::string_view>* names)
      : pages_(std::move(pages)), names_(*names) {}
  // Returns false at the end.
  StatusOr<bool> Next();
  // Valid after Next, until the next call.
  std::string_view metric() const { return metric_; }
  Status Read(PagedRollups* out);
  // Schema IDs; reading may add some.
  const std::vector<uint64_t>& schemas() const {
    return directory_->first_form ? own_schemas_ : directory_->schemas;
  }

 private:
  // Opens the next page of rollups that may contain a selected name. False: end.
  StatusOr<bool> NextPage();
  // False: malformed.
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
  std::vector<uint64_t> own_schemas_;  // for the first format
};

}  // namespace pitwall::history
