// Importer for training logs in tables (CSV, JSON lines, or a JSON document) with a mapping.
//
// If a row's cell for a metric is absent or a placeholder (IsMissingCell), the row has no sample of
// that metric. The importer skips and counts, with file:line and column: cells that are not numbers
// where the mapping requires numbers, rows without a time, and rows whose step is not a
// non-negative integer. It rejects mappings that use a column that is missing from all rows or
// occurs twice in the header, and inputs without a valid row or cell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/cells/cell_number.h"
#include "services/codec/imports/mapping.h"
#include "services/codec/imports/rows.h"
#include "services/codec/imports/sample_sink.h"
#include "services/codec/imports/series_index.h"

namespace pitwall::imports {

class TableReader {
 public:
  // `name` is the file name in messages. A row's job becomes the label `job_label`. `sink` is not
  // owned.
  TableReader(std::string name, Mapping mapping, std::string job_label, SampleSink* sink,
              const RowLimits& limits = {});

  Status Feed(std::string_view bytes) {
    fed_ = fed_ || !bytes.empty();
    return rows_.Feed(bytes);
  }
  // Skips the last row if it has no line break. Call it before Finish if the input is truncated.
  Status SkipCutRow() { return rows_.SkipCutRow(); }
  Status Finish();
  const lenient::SkippedRecords& skipped_rows() const { return rows_.skipped(); }
  const lenient::SkippedRecords& skipped_cells() const { return skipped_cells_; }

 private:
  struct Cells;

  Status TakeRow(uint32_t line, const Row& row);
  Status ReadStep(Cells* cells) const;
  Status ReadTime(Cells* cells) const;
  // Emits the metric's sample, or skips the cell if it is not a number. Returns InvalidArgument if
  // the row has a step but no mode.
  Status TakeMetric(const Cells& cells, std::string_view column, const MappedMetric& metric);
  // Returns the cell's value in the unit of its series.
  StatusOr<double> Value(std::string_view column, std::string_view text,
                         const MappedMetric& metric);
  // Returns a hint that names the input column the mapping probably means: ` (did you mean "x"?)`,
  // or "".
  std::string Similar(std::string_view column) const;

  const std::string name_;
  const Mapping mapping_;
  const std::string job_label_;
  SeriesIndex series_;
  RowReader rows_;
  uint64_t row_ = 0;
  bool fed_ = false;             // received at least one byte
  StringMap<ColumnUnit> units_;  // by column; for one row per sample, by metric name
  lenient::SkippedRecords skipped_cells_{"cell"};
  StringMap<bool> columns_;  // columns in the mapping, and whether any row had them
};

}  // namespace pitwall::imports
