// Samples of one rank, from its traces, by the one place where spans become per-step series
// (services/codec/steps).
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

// Operators of a step and device that get a series, those that took longest.
inline constexpr size_t kMaxOperators = 20;

struct TracedStep {
  int64_t start_ns = 0;  // on the host
  int64_t end_ns = 0;
  int64_t step = 0;
  std::string mode;
  // PlaceOnDevice: the times that give the duration; nothing: the host's.
  std::optional<Interval> on_device = std::nullopt;
};

// Everything may be added in any order; Write looks at all of it. Not thread-safe.
class RankTrace {
 public:
  void AddStep(TracedStep step) { steps_.push_back(std::move(step)); }
  // Spans of one phase may overlap: time counts once. Where at most `gap_ns` lies between two, it
  // counts, too.
  void AddPhase(std::string_view phase, int64_t start_ns, int64_t end_ns, int64_t gap_ns = 0);
  // Time of an operator, counted to the step in which it began; `device` is cpu or gpu.
  void AddOperator(std::string_view name, std::string_view device, int64_t start_ns,
                   int64_t taken_ns);
  // A value with or without a step (steps::LoggedValue).
  void AddValue(steps::LoggedValue value) { values_.push_back(std::move(value)); }

  // Everything of another one.
  void Add(RankTrace other);

  // Sorts the steps by their start; for StepAt, after the last AddStep.
  void SortSteps();
  const std::vector<TracedStep>& steps() const { return steps_; }
  // The step that runs at a time, the one that began last; -1: none. After SortSteps.
  int64_t StepAt(int64_t time_ns) const;
  bool empty() const { return steps_.empty() && phases_.empty() && values_.empty(); }

  // Samples of the rank. A phase is cut where a step begins or ends, since each step has its own
  // part. What StepSeries does not take is logged under `name`. Leaves nothing behind.
  Status Write(int64_t rank, int64_t world_size, std::string_view name, SeriesIndex* out);

 private:
  struct Phase {
    std::vector<Interval> intervals;
    int64_t gap_ns = 0;
  };
  struct Operator {
    int64_t start_ns;
    int64_t taken_ns;
    uint32_t name;  // of operator_names_
  };

  std::vector<Span> Spans() const;
  void AddOperatorValues();

  std::vector<TracedStep> steps_;
  std::map<std::string, Phase, std::less<>> phases_;
  std::map<std::pair<std::string, std::string>, uint32_t> operator_numbers_;  // device, name
  std::vector<Operator> operators_;
  std::vector<steps::LoggedValue> values_;
};

}  // namespace pitwall::imports
