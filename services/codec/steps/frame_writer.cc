#include "services/codec/steps/frame_writer.h"

#include <algorithm>
#include <tuple>

#include "services/model/value.h"

namespace pitwall::steps {

size_t FrameWriter::Write(std::vector<Row> rows, uint64_t schema_id, size_t width, size_t max_cells,
                          Batch* batch) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.time_ns, a.mode, a.step) < std::tie(b.time_ns, b.mode, b.step);
  });
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Row* before = kept > 0 ? &rows[kept - 1] : nullptr;
    if (before != nullptr && std::tie(before->time_ns, before->mode, before->step) ==
                                 std::tie(rows[i].time_ns, rows[i].mode, rows[i].step)) {
      before->cells.insert(before->cells.end(), rows[i].cells.begin(), rows[i].cells.end());
      continue;
    }
    if (kept != i) rows[kept] = std::move(rows[i]);
    ++kept;
  }
  const size_t fit = max_cells / width;
  const size_t dropped = kept > fit ? kept - fit : 0;
  kept -= dropped;

  times_.clear();
  steps_.clear();
  times_.reserve(kept);  // must not reallocate, because frames point into these vectors
  steps_.reserve(kept);
  cells_.assign(kept * width, MissingValue());
  const size_t frame_rows = std::max<size_t>(1, cells_per_frame_ / width);
  size_t begin = 0;
  for (size_t i = 0; i < kept; ++i) {
    const Row& row = rows[i];
    times_.push_back(row.time_ns);
    steps_.push_back(row.step);
    for (const auto& [column, value] : row.cells) cells_[i * width + column] = value;
    // A frame has strictly ascending times and a single mode.
    const bool ends = i + 1 == kept || rows[i + 1].mode != row.mode ||
                      rows[i + 1].time_ns <= row.time_ns || i + 1 - begin >= frame_rows;
    if (!ends) continue;
    const size_t count = i + 1 - begin;
    Frame frame;
    frame.schema_id = schema_id;
    frame.times = {times_.data() + begin, count};
    if (!row.mode.empty()) {
      frame.steps = {steps_.data() + begin, count};
      frame.mode = row.mode;
    }
    frame.values = {cells_.data() + begin * width, count * width};
    batch->frames.push_back(frame);
    begin = i + 1;
  }
  return dropped;
}

}  // namespace pitwall::steps
