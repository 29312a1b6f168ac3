// Samples of one rank, computed from its traces. services/codec/steps converts spans to per-step
// series.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/intervals.h"
#include "services/codec/steps/step_series.h"

namespace pitwall::imports {

// Maximum number of operators with a series per step and device; the longest are kept.
inline constexpr size_t kMaxOperators = 20;

struct TracedStep {
  int64_t start_ns = 0;  // on the host
  int64_t end_ns = 0;
  int64_t step = 0;
  std::string mode;
  // Device times that determine the duration (PlaceOnDevice). If absent, the host's times are used.
  std::optional<Interval> on_device = std::nullopt;
};

// Accepts data in any order until Write emits the samples. Not thread-safe.
class RankTrace {
 public:
  void AddStep(TracedStep step) { steps_.push_back(std::move(step)); }
  // Adds a span. Overlapping spans of a phase count only once. A gap of at most `gap_ns` between
  // two spans also counts.
  void AddPhase(std::string_view phase, int64_t start_ns, int64_t end_ns, int64_t gap_ns = 0);
  // Adds operator time to the step in which the operator started. `device` is cpu or gpu.
  void AddOperator(std::string_view name, std::string_view device, int64_t start_ns,
                   int64_t taken_ns);
  // Adds a value with or without a step (steps::LoggedValue).
  void AddValue(steps::LoggedValue value) { values_.push_back(std::move(value)); }

  // Adds all data from another object.
  void Add(RankTrace other);

  // Sorts the steps by start. Call it after the last AddStep and before StepAt.
  void SortSteps();
  const std::vector<TracedStep>& steps() const { return steps_; }
  // Returns the index of the step running at a time, or -1 between steps. If several overlap,
  // returns the one that started last. Requires SortSteps.
  int64_t StepAt(int64_t time_ns) const;
  bool empty() const { return steps_.empty() && phases_.empty() && values_.empty(); }

  // Emits the rank's samples. A phase is split at the starts and ends of steps, because each step
  // gets its own part. Data dropped by StepSeries is logged under `name`. Afterward, the object is
  // empty.
  Status Write(int64_t rank, int64_t world_size, std::string_view name, SeriesIndex* out);

 private:
  struct Phase {
    std::vector<Interval> intervals;
    int64_t gap_ns = 0;
  };
  struct Operator {
    int64_t start_ns;
    int64_t taken_ns;
    uint32_t name;  // index in operator_names_
  };

  std::vector<Span> Spans() const;
  void AddOperatorValues();

  std::vector<TracedStep> steps_;
  std::map<std::string, Phase, std::less<>> phases_;
  std::map<std::pair<std::string, std::string>, uint32_t> operator_numbers_;  // by device and name
  std::vector<Operator> operators_;
  std::vector<steps::LoggedValue> values_;
};

}  // namespace pitwall::imports
