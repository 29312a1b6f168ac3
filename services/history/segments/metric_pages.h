// Rollups, spreads and extents of a sealed window by metric, and totals of its spans: one read
// tells those of all series, without opening the segment.
//
// The table "metrics": a row and a group for each page. A page holds metrics in their order, as
// many as are worth a read; pages of rollups are first, then those of spreads, of extents by schema
// and of totals; last a directory of all. The directory begins with its form. Of the first form,
// which begins with the kind of its first page, are rollups and spreads only, and rollups tell
// schemas by their ids, not by numbers in the directory.
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

#include "services/history/rollup_rows.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/window_segment.h"
#include "services/history/windows/span_totals.h"
#include "services/history/windows/window_summary.h"

namespace pitwall::history {

struct SegmentBuilder;

inline constexpr char kMetricsTable[] = "metrics";
// The tier that pages have.
inline constexpr size_t kPagedTier = 1;

// When the samples of a series begin and end.
struct SeriesExtent {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool has_steps = false;
  friend auto operator<=>(const SeriesExtent&, const SeriesExtent&) = default;
};
// Columns of a schema that follow each other, of which each has samples between the same times.
struct SeriesRun {
  uint32_t first_column = 0;
  uint32_t columns = 0;
  SeriesExtent extent;
};

// Rows of series of one metric, as they are gathered: column by column.
struct MetricRollups {
  std::vector<uint64_t> schemas;     // by series: with `columns` what it is
  std::vector<uint32_t> columns;     // by series
  std::vector<uint32_t> row_counts;  // by series
  std::vector<int64_t> starts;       // by row, in lengths of the tier since 1970
  std::vector<int64_t> counts;       // by row
  std::vector<double> values;        // by row: min, max, last, sum
  static constexpr size_t kValues = RollupColumns::kValues;

  void Add(uint64_t schema, uint32_t column, const std::vector<RollupRow>& rows);
  std::span<const double, kValues> ValuesOf(size_t row) const {
    return std::span<const double, kValues>(&values[row * kValues], kValues);
  }
};

// Gathers what goes into the pages of a window.
class MetricPagesWriter {
 public:
  // Each series once, in an order that follows from the window's rows.
  void Add(std::string_view metric, uint64_t schema, uint32_t column, const SeriesExtent& extent,
           const std::vector<RollupRow>& rows) {
    rollups_[std::string(metric)].Add(schema, column, rows);
    series_.push_back({schema, column, extent});
  }
  // `totals`: of all spans, where they can be told.
  Status Write(const Spreads& spreads, const std::optional<std::vector<OperatorTotal>>& totals,
               SegmentBuilder* w, SegmentMeta* facts);

 private:
  struct Series {
    uint64_t schema;
    uint32_t column;
    SeriesExtent extent;
  };
  // Adds pages to the segment, as they are made.
  class Pages;
  Status WriteSeries(const std::vector<uint64_t>& schemas, Pages* pages);

  std::map<std::string, MetricRollups> rollups_;
  std::vector<Series> series_;
};

// Reads them. Thread-safe.
class MetricPages {
 public:
  // `cache` may be null. `facts` has pages, and outlives this.
  MetricPages(std::string path, const SegmentMeta& facts, SegmentCache* cache)
      : path_(std::move(path)), facts_(facts), cache_(cache) {}
  // By (node, metric), in an order that counts for nothing.
  Status ForEachSpread(
      const std::vector<std::string_view>& names,
      const std::function<void(const Spreads::key_type&, const Spread&)>& take) const;
  // False: of a window that was written before they told series.
  StatusOr<bool> TellSeries() const;
  // Each schema once, with runs of its columns, which ascend. A series that several schemas have is
  // told by the first of them.
  Status ForEachSeries(
      const std::function<Status(uint64_t schema, std::span<const SeriesRun> runs)>& take) const;
  // Adds the totals that `wanted` lets through; false: the pages do not tell them.
  StatusOr<bool> AddTotals(
      const std::function<bool(int64_t rank, Span::Kind kind, std::string_view name)>& wanted,
      SpanTotals* totals) const;

 private:
  // Numbers are in files: never reuse one.
  enum Kind : uint8_t { kRollups = 0, kSpreads = 1, kSeries = 2, kTotals = 3 };
  static constexpr uint8_t kForm = 16;  // of a directory; no kind of a page
  struct Place {
    Kind kind;
    std::string first, last;  // metrics
    store::Page page;
  };
  struct Directory {
    bool first_form = false;
    bool totals = false;            // are told
    std::vector<uint64_t> schemas;  // ids, ascending
    std::vector<Place> places;
    size_t bytes() const { return places.size() * sizeof(Place) + schemas.size() * 8; }
  };
  friend class MetricPagesWriter;
  friend class RollupCursor;

  StatusOr<std::shared_ptr<const Directory>> ReadDirectory() const;
  StatusOr<std::shared_ptr<const std::string>> ReadPage(const Directory& directory,
                                                        const Place& place) const;
  // Calls with the metrics of that kind and what is told of them.
  Status ForEach(const Directory& directory, Kind kind, const std::vector<std::string_view>& names,
                 const std::function<Status(std::string_view metric, std::string_view told,
                                            const store::Page& page)>& take) const;

  const std::string path_;
  const SegmentMeta& facts_;
  SegmentCache* const cache_;
};

}  // namespace pitwall::history
