// Series for a query, read from the metric pages of sealed windows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/history/history.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/rollup_cursor.h"
#include "services/history/store/history_store.h"
#include "services/history/windows/series_set.h"

namespace pitwall::history {

// Returns the names of the selected metrics, or an empty list if any metric may match.
std::vector<std::string_view> MetricNamesOf(const std::vector<Selector>& selectors);
// `facts` must outlive the result.
MetricPages PagesOf(const HistoryStore& store, const SegmentMeta& facts);

// Resolves the columns of each schema to series, once for all windows. Not thread-safe.
class PagedSeries {
 public:
  // All arguments must outlive this object.
  PagedSeries(const HistoryStore* store, const SeriesQuery* query, SeriesSet* set)
      : store_(*store), job_(query->job), names_(MetricNamesOf(query->selectors)), set_(*set) {}
  // Calls `take` with each selected series and the time range of its samples.
  Status ReadExtents(const SegmentMeta& facts,
                     const std::function<void(uint32_t series, const SeriesExtent& extent)>& take);
  // Several series of one window and their concatenated rows.
  struct Rollups {
    std::span<const uint32_t> series;  // indexes into the set; rows of kUnwanted are skipped
    std::span<const uint32_t> row_counts;
    const RollupColumns& rows;
  };
  static constexpr uint32_t kUnwanted = UINT32_MAX;
  // Reads metric by metric, and for each metric the windows in the given order, so that the
  // metric's state stays in the CPU cache. A series belongs to one metric, so the rows of a series
  // also arrive in window order.
  Status ReadRollups(std::span<const SegmentMeta* const> windows,
                     const std::function<Status(const Rollups&)>& take);

 private:
  struct Window;

  StatusOr<const WantedColumns*> WantedOf(uint64_t schema, const SegmentMeta& facts);
  Status ReadMetric(Window* window, const std::function<Status(const Rollups&)>& take);

  const HistoryStore& store_;
  const std::string job_;
  const std::vector<std::string_view> names_;
  SeriesSet& set_;
  absl::flat_hash_map<uint64_t, const WantedColumns*> wanted_;
  // Scratch buffers for the current metric.
  PagedRollups read_;
  std::vector<uint32_t> series_;
};

}  // namespace pitwall::history
