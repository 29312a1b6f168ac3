// Converter from sparse rows to the dense frames of one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::steps {

// Values at one tick. If a column occurs twice, the later cell wins.
struct Row {
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  std::string_view mode;                           // empty if and only if the row has no step
  std::vector<std::pair<uint32_t, double>> cells;  // pairs of column and value
};

// Owns the data that the frames of the last Write point to. Not thread-safe.
class FrameWriter {
 public:
  // Limits the number of cells per frame, so that a batch can be split across frames.
  explicit FrameWriter(size_t cells_per_frame) : cells_per_frame_(cells_per_frame) {}

  // Appends the rows to batch->frames, ordered by time, then by mode and step. Merges rows with the
  // same time, mode, and step. Returns the number of rows dropped from the end because they exceed
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
