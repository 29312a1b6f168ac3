// Series of a query, from pages of metrics.
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

// Of metrics; empty: any may be asked for.
std::vector<std::string_view> MetricNamesOf(const std::vector<Selector>& selectors);
// `facts` must outlive it.
MetricPages PagesOf(const HistoryStore& store, const SegmentMeta& facts);

// Which series the columns of a schema are is looked up once for all windows. Not thread-safe.
class PagedSeries {
 public:
  // All of them must outlive it.
  PagedSeries(const HistoryStore* store, const SeriesQuery* query, SeriesSet* set)
      : store_(*store), job_(query->job), names_(MetricNamesOf(query->selectors)), set_(*set) {}
  // Calls with each wanted series and when its samples begin and end.
  Status ReadExtents(const SegmentMeta& facts,
                     const std::function<void(uint32_t series, const SeriesExtent& extent)>& take);
  // Some series of one window, and their rows one after another.
  struct Rollups {
    std::span<const uint32_t> series;  // indexes into the set; kUnwanted: its rows are skipped
    std::span<const uint32_t> row_counts;
    const RollupColumns& rows;
  };
  static constexpr uint32_t kUnwanted = UINT32_MAX;
  // Metric by metric, and of each window by window in the order given: what is made of a metric is
  // near when its next rows come. A series has one metric, so its rows come in that order too.
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
  // Of the metric that is read.
  PagedRollups read_;
  std::vector<uint32_t> series_;
};

}  // namespace pitwall::history
