// Importer of training logs in tables (CSV, JSON lines, a JSON document), by a mapping.
//
// A row without a cell for a metric, or with a text for a missing value (IsMissingCell), has no
// sample of it. Skipped and counted, with file:line and the column: a cell that is not a number
// where one is wanted, a row without a time, or with a step that is not a whole number from 0 on.
// Rejected: a column that the mapping names and no row has, or the header has twice; an input
// without a valid row or cell.
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
  // `name` is the file in messages. The job of a row becomes the label `job_label`. `sink` is
  // borrowed.
  TableReader(std::string name, Mapping mapping, std::string job_label, SampleSink* sink,
              const RowLimits& limits = {});

  Status Feed(std::string_view bytes) {
    fed_ = fed_ || !bytes.empty();
    return rows_.Feed(bytes);
  }
  // Before Finish, if the input is cut short: skips a last row without its end.
  Status SkipCutRow() { return rows_.SkipCutRow(); }
  Status Finish();
  const lenient::SkippedRecords& skipped_rows() const { return rows_.skipped(); }
  const lenient::SkippedRecords& skipped_cells() const { return skipped_cells_; }

 private:
  struct Cells;

  Status TakeRow(uint32_t line, const Row& row);
  Status ReadStep(Cells* cells) const;
  Status ReadTime(Cells* cells) const;
  // Skips a cell that is not a number. InvalidArgument: the row has a step and no mode.
  Status TakeMetric(const Cells& cells, std::string_view column, const MappedMetric& metric);
  // The value of a cell in the unit of its series.
  StatusOr<double> Value(std::string_view column, std::string_view text,
                         const MappedMetric& metric);
  // A name of the input that is likely meant by a column of the mapping: ` (did you mean "x"?)`, or
  // "".
  std::string Similar(std::string_view column) const;

  const std::string name_;
  const Mapping mapping_;
  const std::string job_label_;
  SeriesIndex series_;
  RowReader rows_;
  uint64_t row_ = 0;
  bool fed_ = false;             // received any byte
  StringMap<ColumnUnit> units_;  // by column; of rows with a sample each, by their name
  lenient::SkippedRecords skipped_cells_{"cell"};
  StringMap<bool> columns_;  // that the mapping names: whether some row had them
};

}  // namespace pitwall::imports
