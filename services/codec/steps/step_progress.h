// Progress of one rank: its step series and the step that ended last.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/codec/steps/frame_writer.h"
#include "services/codec/steps/row_streams.h"

namespace pitwall::steps {

// Writes train_step, train_step_duration_seconds, and train_world_size. Not thread-safe.
class StepProgress {
 public:
  // Adds the columns to `columns`. `world_size` is 0 if unknown, and its series is then omitted.
  StepProgress(std::string_view rank, int64_t world_size, RowStreams* columns);

  // Appends the cells of a step that ended.
  void EndStep(int64_t step, int64_t start_ns, int64_t end_ns, Row* row);
  // Returns a row without a step at `promise_ns` if that is after `floor_ns` and train_step was not
  // emitted in the last `repeat_ns`.
  std::optional<Row> Repeat(int64_t promise_ns, int64_t floor_ns, int64_t repeat_ns);

 private:
  const int64_t world_size_;
  const uint32_t step_column_;
  const uint32_t duration_column_;
  std::optional<uint32_t> world_column_;
  std::optional<int64_t> last_step_;  // last step that ended, in any mode
  int64_t last_step_ns_ = INT64_MIN;  // time when the step was last emitted
};

}  // namespace pitwall::steps
