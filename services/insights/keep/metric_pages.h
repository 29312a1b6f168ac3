// Rollups and spreads of a sealed window by metric: one read tells those of all series, without
// opening the segment.
//
// The table "metrics": a row and a group for each page. A page holds metrics in their order, as
// many as are worth a read; pages of rollups are first, then those of spreads, last a directory of
// both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/insights/keep/segment_cache.h"
#include "services/insights/keep/window_segment.h"
#include "services/insights/keep/window_summary.h"

namespace pitwall::insights {

struct WindowWriting;

inline constexpr char kMetricsTable[] = "metrics";
// The tier that pages have.
inline constexpr size_t kPagedTier = 1;

// Rows of series of one metric, column by column.
struct MetricRollups {
  std::vector<uint64_t> schemas;     // by series: with `columns` what it is
  std::vector<uint32_t> columns;     // by series
  std::vector<uint32_t> row_counts;  // by series
  std::vector<int64_t> starts;       // by row, in lengths of the tier since 1970
  std::vector<int64_t> counts;       // by row
  std::vector<double> values;        // by row: min, max, last, sum
  static constexpr size_t kValues = 4;

  void Add(uint64_t schema, uint32_t column, const std::vector<RollupRow>& rows);
  std::span<const double, kValues> ValuesOf(size_t row) const {
    return std::span<const double, kValues>(&values[row * kValues], kValues);
  }
  RollupRow Row(size_t row) const {
    const auto of = ValuesOf(row);
    return {starts[row] * kTiers[kPagedTier],  of[0], of[1], of[3], of[2],
            static_cast<uint32_t>(counts[row])};
  }
};

// Gathers what goes into the pages of a window.
class MetricPagesWriter {
 public:
  // Each series once, in an order that follows from the window's rows.
  void Add(std::string_view metric, uint64_t schema, uint32_t column,
           const std::vector<RollupRow>& rows) {
    rollups_[std::string(metric)].Add(schema, column, rows);
  }
  Status Write(const Spreads& spreads, WindowWriting* w, SegmentFacts* facts);

 private:
  std::map<std::string, MetricRollups> rollups_;
};

// Reads them. Thread-safe.
class MetricPages {
 public:
  // `cache` may be null. `facts` has pages, and outlives this.
  MetricPages(std::string path, const SegmentFacts& facts, SegmentCache* cache)
      : path_(std::move(path)), facts_(facts), cache_(cache) {}
  // Of the metrics of those names; without names of all. A metric of very many series comes in
  // parts.
  Status ForEachRollups(const std::vector<std::string_view>& names,
                        const std::function<Status(const MetricRollups&)>& take) const;
  // By (node, metric), in an order that counts for nothing.
  Status ForEachSpread(
      const std::vector<std::string_view>& names,
      const std::function<void(const Spreads::key_type&, const Spread&)>& take) const;

 private:
  enum Kind : uint8_t { kRollups = 0, kSpreads = 1 };
  struct Place {
    Kind kind;
    std::string first, last;  // metrics
    store::Page page;
  };
  using Directory = std::vector<Place>;
  friend class MetricPagesWriter;

  StatusOr<std::shared_ptr<const Directory>> ReadDirectory() const;
  StatusOr<std::shared_ptr<const std::string>> ReadPage(size_t number,
                                                        const store::Page& page) const;
  // Calls with the metrics of that kind and what is told of them.
  Status ForEach(Kind kind, const std::vector<std::string_view>& names,
                 const std::function<Status(std::string_view metric, std::string_view told,
                                            const store::Page& page)>& take) const;

  const std::string path_;
  const SegmentFacts& facts_;
  SegmentCache* const cache_;
};

}  // namespace pitwall::insights
