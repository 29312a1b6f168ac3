// Rollups of a sealed window out of its pages of metrics: several windows are read side by side,
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

// Rows of series of one metric of a window: series after series, each in the order of time.
struct PagedRollups {
  std::vector<uint32_t> schemas;     // by series: indexes into the cursor's schemas
  std::vector<uint32_t> columns;     // by series; ascending within a schema
  std::vector<uint32_t> row_counts;  // by series
  // Values are in the page: until the cursor's next one.
  RollupColumns rows{.tier_ns = kTiers[kPagedTier], .starts = {}, .counts = {}};
};

// Rollups of one window, metric after metric in the order of their names. A metric of very many
// series comes several times. Not thread-safe.
class RollupCursor {
 public:
  // Of the metrics of those names, which must outlive it; without names of all.
  RollupCursor(MetricPages pages, const std::vector<std::string_view>* names)
      : pages_(std::move(pages)), names_(*names) {}
  // False: that was the last one.
  StatusOr<bool> Next();
  // After Next, until the next one.
  std::string_view metric() const { return metric_; }
  Status Read(PagedRollups* out);
  // Ids, of which reading may add some.
  const std::vector<uint64_t>& schemas() const {
    return directory_->first_form ? own_schemas_ : directory_->schemas;
  }

 private:
  // Opens the next page of rollups that may have one of the names. False: that was the last one.
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
  std::string_view metric_, told_;
  std::vector<uint64_t> own_schemas_;  // of the first form
};

}  // namespace pitwall::history
