// Training logs as tables (CSV, JSON lines, a JSON document) -> samples, by a mapping.
//
// A row without a cell for a metric has no sample of it. Refused, with file:line and the column: a
// cell that is not a number where one is wanted, a row without a time, a step that is no whole
// number from 0 on, a column that the mapping names and no row has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/strings.h"
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
  Status Finish();

 private:
  struct Cells;

  Status TakeRow(uint32_t line, const Row& row);
  Status TakeMetric(const Cells& cells, std::string_view column, const MappedMetric& metric);

  const std::string name_;
  const Mapping mapping_;
  const std::string job_label_;
  SeriesIndex series_;
  RowReader rows_;
  uint64_t row_ = 0;
  bool fed_ = false;         // any byte
  StringMap<bool> columns_;  // that the mapping names: whether some row had them
};

}  // namespace pitwall::imports
