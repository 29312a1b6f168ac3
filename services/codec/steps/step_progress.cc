#include "services/codec/steps/step_progress.h"

#include <algorithm>

#include "services/codec/steps/series_names.h"

namespace pitwall::steps {

StepProgress::StepProgress(std::string_view rank, int64_t world_size, RowStreams* columns)
    : world_size_(world_size),
      step_column_(columns->MainColumn(RankSeries("train_step", rank), SeriesKind::kGauge)),
      duration_column_(columns->MainColumn(RankSeries("train_step_duration_seconds", rank),
                                           SeriesKind::kGauge)) {
  if (world_size_ > 0) {
    world_column_ = columns->MainColumn(RankSeries("train_world_size", rank), SeriesKind::kGauge);
  }
}

void StepProgress::EndStep(int64_t step, int64_t start_ns, int64_t end_ns, Row* row) {
  row->cells.emplace_back(step_column_, static_cast<double>(step));
  row->cells.emplace_back(duration_column_, static_cast<double>(end_ns - start_ns) / 1e9);
  if (world_column_) row->cells.emplace_back(*world_column_, static_cast<double>(world_size_));
  last_step_ = step;
  last_step_ns_ = std::max(last_step_ns_, end_ns);
}

std::optional<Row> StepProgress::Repeat(int64_t promise_ns, int64_t floor_ns, int64_t repeat_ns) {
  if (promise_ns <= std::max(floor_ns, last_step_ns_)) return std::nullopt;
  if (last_step_ns_ != INT64_MIN && promise_ns - last_step_ns_ < repeat_ns) return std::nullopt;
  Row row{promise_ns, kNoStep, {}, {}};
  if (last_step_.has_value())
    row.cells.emplace_back(step_column_, static_cast<double>(*last_step_));
  if (world_column_) row.cells.emplace_back(*world_column_, static_cast<double>(world_size_));
  if (row.cells.empty()) return std::nullopt;
  last_step_ns_ = promise_ns;
  return row;
}

}  // namespace pitwall::steps
