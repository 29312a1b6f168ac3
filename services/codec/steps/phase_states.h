// Stream of phase states for one rank: 1 for the running phase and 0 for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/codec/steps/frame_writer.h"
#include "services/codec/steps/phase_timeline.h"
#include "services/codec/steps/series_columns.h"
#include "services/model/telemetry.h"

namespace pitwall::steps {

struct PhaseStateOptions {
  uint32_t stream = 0;
  size_t max_cells = 0;  // maximum number of cells per Write
  size_t cells_per_frame = 0;
  int64_t repeat_ns = 0;     // an unchanged state is repeated at this interval
  int64_t min_state_ns = 0;  // shorter states are not emitted
};

// Owns the data that the frames of the last Write point to. Phases are numbered 0, 1, … in the
// order of the AddPhase calls. Not thread-safe.
class PhaseStates {
 public:
  explicit PhaseStates(const PhaseStateOptions& options)
      : options_(options), columns_(options.stream), writer_(options.cells_per_frame) {}

  // Adds the next phase.
  void AddPhase(const Labels& series) { columns_.Column(series, SeriesKind::kGauge); }
  void AddSpan(int phase, int64_t start_ns, int64_t end_ns) {
    timeline_.AddSpan(phase, start_ns, end_ns);
  }
  void SetCurrent(int phase, int64_t since_ns) { timeline_.SetCurrent(phase, since_ns); }

  // Appends the changes after `floor_ns` to batch->frames, and the schema to batch->schemas if
  // frames use a new schema or if `repeat_schema` is true. Returns the number of changes dropped
  // because they exceed the limit.
  size_t Write(int64_t promise_ns, int64_t floor_ns, bool repeat_schema, Batch* batch);

 private:
  // Returns the changes to emit, including the repeated state at `promise_ns`.
  std::vector<PhaseChange> TakeChanges(int64_t promise_ns, int64_t floor_ns);
  void WriteChanges(const std::vector<PhaseChange>& changes, Batch* batch);

  const PhaseStateOptions options_;
  SeriesColumns columns_;
  PhaseTimeline timeline_;
  FrameWriter writer_;
  int64_t last_state_ns_ = INT64_MIN;
  int emitted_phase_ = kNoPhase;
};

}  // namespace pitwall::steps
