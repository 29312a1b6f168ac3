// Converter of sparse rows to dense frames of one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::steps {

// One tick. If a column has two cells, the later one counts.
struct Row {
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  std::string_view mode;                           // empty exactly when the row has no step
  std::vector<std::pair<uint32_t, double>> cells;  // column, value
};

// Owns the data that the frames of its last Write point into. Not thread-safe.
class FrameWriter {
 public:
  // Limits the cells per frame, so that a batch can be divided between frames.
  explicit FrameWriter(size_t cells_per_frame) : cells_per_frame_(cells_per_frame) {}

  // Appends the rows to batch->frames, in the order of time, then mode and step; rows of one
  // moment, mode and step become one. Returns how many of the last rows found no room in
  // `max_cells`.
  size_t Write(std::vector<Row> rows, uint64_t schema_id, size_t width, size_t max_cells,
               Batch* batch);

 private:
  const size_t cells_per_frame_;
  std::vector<int64_t> times_;
  std::vector<int64_t> steps_;
  std::vector<double> cells_;
};

}  // namespace pitwall::steps
