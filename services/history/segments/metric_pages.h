// Rollups, spreads, and extents of a sealed window's series by metric, and totals of the window's
// spans. These are read for all series together, without opening the segment.
//
// The table "metrics" has one row and one group per page. A page contains consecutive metrics, up
// to a target size. Pages of rollups come first, then spreads, extents by schema, and totals, and
// finally a directory of all pages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/binary.h"
#include "services/history/rollup_rows.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/window_segment.h"
#include "services/history/windows/span_totals.h"
#include "services/history/windows/window_summary.h"

namespace pitwall::history {

struct SegmentBuilder;

inline constexpr char kMetricsTable[] = "metrics";
// The tier stored in pages.
inline constexpr size_t kPagedTier = 1;

// Times of the first and last sample of a series.
struct SeriesExtent {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool has_steps = false;
  friend auto operator<=>(const SeriesExtent&, const SeriesExtent&) = default;
};
// Consecutive columns of a schema with equal extents.
struct SeriesRun {
  uint32_t first_column = 0;
  uint32_t columns = 0;
  SeriesExtent extent;
};

// Rows of one metric's series, collected column by column.
struct MetricRollups {
  std::vector<uint64_t> schemas;     // by series; together with `columns`, identifies the series
  std::vector<uint32_t> columns;     // indexed by series
  std::vector<uint32_t> row_counts;  // indexed by series
  std::vector<int64_t> starts;       // by row, in tier lengths since 1970
  std::vector<int64_t> counts;       // indexed by row
  std::vector<double> values;        // by row: min, max, last, and sum
  static constexpr size_t kValues = RollupColumns::kValues;

  void Add(uint64_t schema, uint32_t column, const std::vector<RollupRow>& rows);
  std::span<const double, kValues> ValuesOf(size_t row) const {
    return std::span<const double, kValues>(&values[row * kValues], kValues);
  }
};

// Builder for a window's pages.
class MetricPagesWriter {
 public:
  // Adds a series. Each series must be added exactly once. The order of series must depend only on
  // the window's rows.
  void Add(std::string_view metric, uint64_t schema, uint32_t column, const SeriesExtent& extent,
           const std::vector<RollupRow>& rows) {
    rollups_[std::string(metric)].Add(schema, column, rows);
    series_.push_back({schema, column, extent});
  }
  // Writes the pages. `totals` covers all spans and is empty if the spans cannot be totaled.
  Status Write(const Spreads& spreads, const std::optional<std::vector<OperatorTotal>>& totals,
               SegmentBuilder* w, SegmentMeta* facts);

 private:
  struct Series {
    uint64_t schema;
    uint32_t column;
    SeriesExtent extent;
  };
  // Writer that adds finished pages to the segment.
  class Pages;
  Status WriteSeries(const std::vector<uint64_t>& schemas, Pages* pages);

  std::map<std::string, MetricRollups> rollups_;
  std::vector<Series> series_;
};

// Reader of metric pages. Thread-safe.
class MetricPages {
 public:
  // `cache` may be null. `facts` must have pages and must outlive the reader.
  MetricPages(std::string path, const SegmentMeta& facts, SegmentCache* cache)
      : path_(std::move(path)), facts_(facts), cache_(cache) {}
  // Visits spreads by (node, metric) in unspecified order.
  Status ForEachSpread(
      const std::vector<std::string_view>& names,
      const std::function<void(const Spreads::key_type&, const Spread&)>& take) const;
  // Visits each schema once, with ascending runs of its columns. A series that occurs in several
  // schemas is listed under the first of these schemas.
  Status ForEachSeries(
      const std::function<Status(uint64_t schema, std::span<const SeriesRun> runs)>& take) const;
  // Adds the totals that `wanted` accepts. Returns false if the pages have no totals.
  StatusOr<bool> AddTotals(
      const std::function<bool(int64_t rank, Span::Kind kind, std::string_view name)>& wanted,
      SpanTotals* totals) const;

 private:
  // The numbers are stored in files and must not be reused.
  enum Kind : uint8_t { kRollups = 0, kSpreads = 1, kSeries = 2, kTotals = 3 };
  static constexpr uint8_t kForm = 16;  // first byte of a directory; differs from all page kinds
  struct Place {
    Kind kind;
    std::string first, last;  // first and last metric
    store::Page page;
  };
  struct Directory {
    bool totals = false;            // whether the pages contain totals
    std::vector<uint64_t> schemas;  // schema IDs, ascending
    std::vector<Place> places;
    size_t bytes() const { return places.size() * sizeof(Place) + schemas.size() * 8; }
  };
  friend class MetricCursor;
  friend class MetricPagesWriter;
  friend class RollupCursor;

  StatusOr<std::shared_ptr<const Directory>> ReadDirectory() const;
  StatusOr<std::shared_ptr<const std::string>> ReadPage(const Directory& directory,
                                                        const Place& place) const;

  const std::string path_;
  const SegmentMeta& facts_;
  SegmentCache* const cache_;
};

// Cursor over the metrics in pages of one kind, in name order. A metric with a large number of
// series has several entries. Not thread-safe.
class MetricCursor {
 public:
  // Moves to the next entry. Returns false at the end.
  StatusOr<bool> Next();
  // The following functions must be called after Next. Their results are valid until Next is called
  // again.
  std::string_view metric() const { return metric_; }
  std::string_view content() const { return content_; }
  // Returns the schema IDs.
  const std::vector<uint64_t>& schemas() const { return directory_->schemas; }
  // Returns DataLoss for the current page.
  Status Malformed() const;

 protected:
  friend class MetricPages;
  // `names` selects metrics (all if empty) and must outlive the cursor.
  MetricCursor(MetricPages pages, MetricPages::Kind kind,
               const std::vector<std::string_view>* names)
      : pages_(std::move(pages)), kind_(kind), names_(*names) {}

 private:
  // Opens the next page that may contain a selected name. Returns false at the end.
  StatusOr<bool> NextPage();

  const MetricPages pages_;
  const MetricPages::Kind kind_;
  const std::vector<std::string_view>& names_;
  std::shared_ptr<const MetricPages::Directory> directory_;
  size_t next_place_ = 0;
  store::Page place_;
  std::shared_ptr<const std::string> page_;
  BinaryReader in_{{}};
  std::string_view metric_, content_;
};

}  // namespace pitwall::history
