// Tables of samples in a sealed window.
#pragma once

#include <cstdint>
#include <vector>

#include "services/history/history.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/segment_tables.h"
#include "services/history/segments/window_description.h"
#include "services/history/windows/series_set.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// Description of a row table (the series that a source sent over time). Available without reading
// the table.
struct RowsTable {
  OriginPtr origin;
  SharedSchema schema;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

// Reader for the tables with rows. Thread-safe.
class RowTables {
 public:
  // The arguments must outlive this object. Without a cache, no columns are kept.
  RowTables(const SegmentTables* tables, const WindowDescription* window, SegmentCache* cache)
      : tables_(*tables), window_(*window), cache_(cache) {}

  std::vector<RowsTable> Descriptions() const;
  // Appends tables with the selected columns and the rows in the range, without sequence numbers.
  Status ReadViews(SeriesSet* set, const TimeRange& range, std::vector<RowView>* out) const;
  // Adds the sequence numbers to a view of this segment.
  Status AddSequences(RowView* view) const;
  // Reads a table by number, with all columns. Caches no columns.
  StatusOr<RowTable> ReadWhole(size_t table) const;
  // Reads the times of a row table. `keep` determines whether they are cached.
  StatusOr<DecodedColumnPtr> ReadRowTimes(const SegmentTables::Place& place, bool keep) const;
  StatusOr<DecodedColumnPtr> ReadRowTimes(size_t table) const {
    return ReadRowTimes(tables_.rows()[table], true);
  }

 private:
  using Place = SegmentTables::Place;
  // Open table, decoded on first use. Private to row_tables.cc.
  class OpenTable;

  StatusOr<RowView> ReadView(size_t number, const std::vector<uint32_t>& columns,
                             const TimeRange& range) const;
  StatusOr<DecodedColumnPtr> ReadColumn(OpenTable* table, size_t column, bool keep) const;

  const SegmentTables& tables_;
  const WindowDescription& window_;
  SegmentCache* const cache_;
};

}  // namespace pitwall::history
