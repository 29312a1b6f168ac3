// Conversion of one rank's spans and logged values into per-step series. The collector and every
// importer use this class, and the processor never reads spans (architecture.md, section 5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/labels.h"
#include "services/model/telemetry.h"

namespace pitwall::steps {

// Number that the training code logged.
struct LoggedValue {
  std::string metric;  // name in selectors, such as train_loss
  std::vector<Label> labels;
  double value = 0;
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  std::string mode;
};

// Reason for dropping a span or a value. Each reason has a counter.
enum class Drop : uint8_t {
  kTooManyPhases,     // over Options::max_phases
  kTooManyMetrics,    // over Options::max_metrics
  kTooManyOpenSteps,  // over Options::max_open_steps
  kTooManyCells,      // one Flush would exceed Options::max_cells
  kBadName,           // empty or reserved metric, or invalid label
  kLatePhase,         // phase of a step that was already emitted
  kBehindPromise,     // at or before the promised time
};
inline constexpr size_t kDrops = 7;
std::string_view DropName(Drop drop);

struct Options {
  int64_t rank = 0;
  // Number of ranks in the attempt. 0 if unknown; the series is then omitted.
  int64_t world_size = 0;
  int64_t promised_ns = INT64_MIN;  // time promised before the first Flush
  // True if an earlier StepSeries of this rank may have promised an unknown time after
  // `promised_ns`. Added spans and values already respect that promise. States and repetitions get
  // their times from this object, so they must respect the promise too.
  bool resumed = false;
  // First stream, for steps and values logged without labels. The next stream contains phase
  // states, and at most kMaxWideStreams further streams contain values logged with labels.
  uint32_t first_stream = 1;
  size_t max_phases = 64;
  size_t max_metrics = 16384;    // maximum number of logged series
  size_t max_open_steps = 1024;  // maximum number of steps with data but without an end
  // Maximum number of cells per Flush for each of these three kinds of streams.
  size_t max_cells = 1u << 20;
  // Frames are split at this size, so that a batch can be split too.
  size_t cells_per_frame = 1u << 15;
  int64_t state_repeat_ns = 10'000'000'000;  // the design requires at least one every 15 s
  int64_t min_state_ns = 1'000'000;  // shorter states, such as gaps between phases, are not emitted
};

// Series of one rank in the order of events. Each step that ends emits, with its end time, step,
// and mode:
//   train_step{rank}                          the step that just ended
//   train_step_duration_seconds{rank}
//   train_world_size{rank}
//   train_phase_duration_seconds{rank,phase}  sum over the step
//   <metric>{rank,mode,…}                     logged values, the last one of each series
// If earlier steps of this mode had a phase and this step does not, its duration is 0. At each
// change, and at least every state_repeat_ns, these samples are emitted without a step:
//   train_phase_state{rank,phase}             1 for the running phase, 0 for the others
// While no step ends, train_step and train_world_size are repeated at the same interval, because
// rules on the time clock must see that a rank is not progressing. Data that does not belong to a
// step's row (a phase between steps, or a value logged outside a step or after its step's row was
// emitted) gets a row at its own time (for a phase, its end).
//
// Not thread-safe. The owner keeps one object per boot of a rank. Times are event time in
// nanoseconds.
class StepSeries {
 public:
  explicit StepSeries(const Options& options);
  ~StepSeries();
  StepSeries(StepSeries&&) noexcept;
  StepSeries& operator=(StepSeries&&) noexcept;

  // These functions may be called in any order before Flush. Operator spans are ignored, because
  // they have no series.
  void AddSpan(const Span& span);
  void AddValue(const LoggedValue& value);
  // Sets the running phase ("" between phases), its start time, and its step. Values of this step
  // are held until the step ends.
  void SetCurrent(std::string_view phase, int64_t since_ns, int64_t step, std::string_view mode);

  // Appends complete data to batch->frames. All appended times are after the promise of the
  // previous Flush. `promise_ns` is the caller's promise for this batch and must not decrease. The
  // frames' spans stay valid until the next Flush. A schema is appended if it is new or changed, or
  // if `repeat_schemas` is true.
  void Flush(int64_t promise_ns, bool repeat_schemas, Batch* batch);
  // Flushes at the end of the rank. Values of steps that never ended are emitted at their own
  // times.
  void Finish(int64_t promise_ns, Batch* batch);

  // Returns true if the step's data is held until the step ends.
  bool Holds(std::string_view mode, int64_t step) const;
  // Returns the modes of all steps seen so far, sorted.
  const std::vector<std::string>& modes() const;
  const std::array<uint64_t, kDrops>& drops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::steps
