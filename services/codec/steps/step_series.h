// Spans and logged values of one rank -> its per-step series. The one place where this happens: the
// collector and every importer call it, the processor never reads spans (architecture.md, section
// 5).
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

// A number that the training code logged.
struct LoggedValue {
  std::string metric;  // as it will be selected: train_loss, …
  std::vector<Label> labels;
  double value = 0;
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  std::string mode;
};

// Why something was not taken. Each is counted.
enum class Drop : uint8_t {
  kTooManyPhases,     // beyond Options::max_phases
  kTooManyMetrics,    // beyond Options::max_metrics
  kTooManyOpenSteps,  // beyond Options::max_open_steps
  kTooManyCells,      // one Flush would exceed Options::max_cells
  kBadName,           // empty or reserved metric, bad label
  kLatePhase,         // a phase of a step that has been emitted before
  kBehindPromise,     // at or before what was promised
};
inline constexpr size_t kDrops = 7;
std::string_view DropName(Drop drop);

struct Options {
  int64_t rank = 0;
  int64_t world_size = 0;  // ranks of the attempt as this one knows it; 0: not known, no series
  int64_t promised_ns = INT64_MIN;  // before the first Flush
  // Another StepSeries before this one may have promised more than that, nobody knows how much.
  // What is added keeps it; states and repetitions, whose times are made here, must keep it too.
  bool resumed = false;
  // Uses this stream (steps and what is logged without labels), the next (phase state), and at most
  // kMaxWideStreams behind it (what is logged with labels).
  uint32_t first_stream = 1;
  size_t max_phases = 64;
  size_t max_metrics = 16384;         // logged series
  size_t max_open_steps = 1024;       // steps of which something is known, but not their end
  size_t max_cells = 1u << 20;        // values in the frames of one Flush, for each of these three
  size_t cells_per_frame = 1u << 15;  // frames are cut there, so that a batch can be cut too
  int64_t state_repeat_ns = 10'000'000'000;  // design: at least every 15 s
  int64_t min_state_ns = 1'000'000;  // states that end sooner are not told: gaps between phases
};

// Series of one rank, in the order of what it did. With each step that ends, stamped with its end,
// step and mode:
//   train_step{rank}                          the step just finished
//   train_step_duration_seconds{rank}
//   train_world_size{rank}
//   train_phase_duration_seconds{rank,phase}  sum over the step
//   <metric>{rank,mode,…}                     logged values, the last one of each series
// A phase that steps of this mode have had before and this one misses is 0. At each change, and at
// least every state_repeat_ns, without a step:
//   train_phase_state{rank,phase}             1 for the running phase, 0 for the others
// So often train_step and train_world_size are told again too for as long as no step ends: rules on
// the time clock must see that a rank stands still. What belongs to no step (a phase between steps,
// a value logged outside, or after its step's row has gone) gets a row at its own time (a phase:
// its end).
//
// Not thread-safe; its owner keeps it for one boot of one rank. Times are event time in
// nanoseconds.
class StepSeries {
 public:
  explicit StepSeries(const Options& options);
  ~StepSeries();
  StepSeries(StepSeries&&) noexcept;
  StepSeries& operator=(StepSeries&&) noexcept;

  // Order between calls does not matter until Flush. Operator spans make no series and are ignored.
  void AddSpan(const Span& span);
  void AddValue(const LoggedValue& value);
  // What runs now ("": between phases), since when, in which step. Values of this step wait for its
  // end.
  void SetCurrent(std::string_view phase, int64_t since_ns, int64_t step, std::string_view mode);

  // Appends what is complete to batch->frames; everything appended lies after the promise of the
  // Flush before, and `promise_ns` (never less than that one) is what the caller promises with this
  // batch. The frames' spans stay valid until the next Flush. A schema is appended when it is new
  // or changed, and with `repeat_schemas`.
  void Flush(int64_t promise_ns, bool repeat_schemas, Batch* batch);
  // The same at the end of the rank: steps that never ended give their values at their own times.
  void Finish(int64_t promise_ns, Batch* batch);

  // Whether something of the step waits for its end.
  bool Holds(std::string_view mode, int64_t step) const;
  // Modes of the steps seen so far, sorted.
  const std::vector<std::string>& modes() const;
  const std::array<uint64_t, kDrops>& drops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::steps
