#include "services/codec/imports/traces/rank_trace.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/model/telemetry.h"
#include "services/model/value.h"

namespace pitwall::imports {

namespace {

// Maximum number of earlier steps searched for one that overlaps a given time.
constexpr size_t kMaxOverlappingSteps = 16;
// Maximum number of steps per write, which keeps the dense frames of StepSeries small.
constexpr size_t kStepsAtOnce = 256;
constexpr size_t kSpansAtOnce = 65'536;
constexpr size_t kMaxMetrics = 4096;

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// Emits a frame's cells as samples.
Status EmitFrame(const Batch& batch, absl::flat_hash_map<uint64_t, Schema>* schemas,
                 SeriesIndex* out) {
  for (const SharedSchema& schema : batch.schemas) schemas->insert_or_assign(schema->id, *schema);
  for (const Frame& frame : batch.frames) {
    const Schema& schema = schemas->at(frame.schema_id);
    const size_t width = schema.series.size();
    for (size_t column = 0; column < width; ++column) {
      std::optional<uint32_t> series;
      for (size_t tick = 0; tick < frame.times.size(); ++tick) {
        const double value = frame.values[tick * width + column];
        if (IsMissing(value)) continue;
        const int64_t step = frame.steps.empty() ? kNoStep : frame.steps[tick];
        if (!series) {  // a frame has steps for all ticks or for none
          ASSIGN_OR_RETURN(series, out->Find(schema.series[column].labels, frame.mode));
        }
        RETURN_IF_ERROR(out->sink()->Sample(*series, frame.times[tick], step, value, 1));
      }
    }
  }
  return OkStatus();
}

}  // namespace

void RankTrace::AddPhase(std::string_view phase, int64_t start_ns, int64_t end_ns, int64_t gap_ns) {
  auto it = phases_.find(phase);
  if (it == phases_.end()) it = phases_.try_emplace(std::string(phase)).first;
  it->second.intervals.push_back({start_ns, end_ns});
  it->second.gap_ns = gap_ns;
}

void RankTrace::AddOperator(std::string_view name, std::string_view device, int64_t start_ns,
                            int64_t taken_ns) {
  const auto [it, added] =
      operator_numbers_.try_emplace(std::pair(std::string(device), std::string(name)),
                                    static_cast<uint32_t>(operator_numbers_.size()));
  operators_.push_back({start_ns, taken_ns, it->second});
}

void RankTrace::Add(RankTrace other) {
  for (TracedStep& step : other.steps_) AddStep(std::move(step));
  for (const auto& [name, phase] : other.phases_) {
    for (const Interval& interval : phase.intervals)
      AddPhase(name, interval.start_ns, interval.end_ns, phase.gap_ns);
  }
  std::vector<const std::pair<std::string, std::string>*> names(other.operator_numbers_.size());
  for (const auto& [name, number] : other.operator_numbers_) names[number] = &name;
  for (const Operator& op : other.operators_)
    AddOperator(names[op.name]->second, names[op.name]->first, op.start_ns, op.taken_ns);
  for (steps::LoggedValue& value : other.values_) AddValue(std::move(value));
}

void RankTrace::SortSteps() {
  std::stable_sort(steps_.begin(), steps_.end(), [](const TracedStep& a, const TracedStep& b) {
    return a.start_ns < b.start_ns;
  });
}

int64_t RankTrace::StepAt(int64_t time_ns) const {
  auto it = std::partition_point(steps_.begin(), steps_.end(),
                                 [&](const TracedStep& step) { return step.start_ns <= time_ns; });
  for (size_t n = 0; n < kMaxOverlappingSteps && it != steps_.begin(); ++n) {
    --it;
    if (time_ns < it->end_ns) return it - steps_.begin();
  }
  return -1;
}

std::vector<Span> RankTrace::Spans() const {
  // Times at which the running step may change.
  std::vector<int64_t> bounds;
  for (const TracedStep& step : steps_) {
    bounds.push_back(step.start_ns);
    bounds.push_back(step.end_ns);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<Span> spans;
  for (const auto& [name, phase] : phases_) {
    for (const Interval& interval : Merge(phase.intervals, phase.gap_ns)) {
      int64_t begin = interval.start_ns;
      auto bound = std::upper_bound(bounds.begin(), bounds.end(), begin);
      while (begin < interval.end_ns) {
        const bool cut = bound != bounds.end() && *bound < interval.end_ns;
        const int64_t end = cut ? *bound++ : interval.end_ns;
        Span span{Span::Kind::kPhase,     name,    EventTime::FromNs(begin),
                  EventTime::FromNs(end), kNoStep, ""};
        if (const int64_t at = StepAt(begin); at >= 0) {
          span.step = steps_[static_cast<size_t>(at)].step;
          span.mode = steps_[static_cast<size_t>(at)].mode;
        }
        spans.push_back(std::move(span));
        begin = end;
      }
    }
  }
  for (const TracedStep& step : steps_) {
    const Interval timed = step.on_device.value_or(Interval{step.start_ns, step.end_ns});
    spans.push_back({Span::Kind::kStep, "", EventTime::FromNs(timed.start_ns),
                     EventTime::FromNs(timed.end_ns), step.step, step.mode});
  }
  // A step is added after its phases, so the phases are known when the step closes.
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.end < b.end; });
  return spans;
}

void RankTrace::AddOperatorValues() {
  std::vector<const std::pair<std::string, std::string>*> names(operator_numbers_.size());
  for (const auto& [name, number] : operator_numbers_) names[number] = &name;
  std::map<std::pair<int64_t, uint32_t>, int64_t> sums;  // by step and operator
  for (const Operator& op : operators_) {
    if (const int64_t at = StepAt(op.start_ns); at >= 0) sums[{at, op.name}] += op.taken_ns;
  }
  // Keeps the longest operators per step and device.
  std::vector<std::pair<int64_t, uint32_t>> largest;
  const auto emit = [&](const TracedStep& step) {
    std::sort(largest.begin(), largest.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : *names[a.second] < *names[b.second];
    });
    std::map<std::string_view, size_t> of_device;
    for (const auto& [taken, name] : largest) {
      const auto& [device, of] = *names[name];
      if (taken <= 0 || ++of_device[device] > kMaxOperators) continue;
      AddValue({"train_operator_seconds",
                {{"operator", of}, {"device", device}},
                Seconds(taken),
                step.end_ns,
                step.step,
                step.mode});
    }
    largest.clear();
  };
  for (auto it = sums.begin(); it != sums.end(); ++it) {
    largest.emplace_back(it->second, it->first.second);
    if (std::next(it) == sums.end() || std::next(it)->first.first != it->first.first)
      emit(steps_[static_cast<size_t>(it->first.first)]);
  }
}

Status RankTrace::Write(int64_t rank, int64_t world_size, std::string_view name, SeriesIndex* out) {
  if (empty()) return OkStatus();
  SortSteps();
  AddOperatorValues();
  std::vector<Span> spans = Spans();
  std::stable_sort(values_.begin(), values_.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  steps::Options options;
  options.rank = rank;
  options.world_size = world_size;
  options.max_metrics = kMaxMetrics;
  options.max_cells = size_t{1} << 24;
  // States are not repeated, because a trace contains no information about the time outside it.
  options.state_repeat_ns = INT64_MAX;
  steps::StepSeries series(options);
  absl::flat_hash_map<uint64_t, Schema> schemas;
  auto value = values_.begin();
  size_t steps_added = 0, spans_added = 0;
  int64_t last_ns = INT64_MIN;
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t end_ns = spans[i].end.ns();
    for (; value != values_.end() && value->time_ns <= end_ns; ++value) series.AddValue(*value);
    series.AddSpan(spans[i]);
    last_ns = end_ns;
    ++spans_added;
    steps_added += spans[i].kind == Span::Kind::kStep;
    const bool enough = steps_added >= kStepsAtOnce || spans_added >= kSpansAtOnce;
    if (!enough || i + 1 == spans.size() || spans[i + 1].end.ns() == end_ns) continue;
    Batch batch;
    series.Flush(end_ns, false, &batch);
    RETURN_IF_ERROR(EmitFrame(batch, &schemas, out));
    steps_added = spans_added = 0;
  }
  for (; value != values_.end(); ++value) {
    series.AddValue(*value);
    last_ns = std::max(last_ns, value->time_ns);
  }
  Batch batch;
  series.Finish(last_ns, &batch);
  RETURN_IF_ERROR(EmitFrame(batch, &schemas, out));
  for (size_t i = 0; i < steps::kDrops; ++i) {
    if (const uint64_t n = series.drops()[i]; n > 0) {
      PITWALL_LOG(kWarning, "import", name, ": rank ", rank,
                  ": skipped: ", steps::DropName(static_cast<steps::Drop>(i)), " ", n);
    }
  }
  *this = RankTrace();
  return OkStatus();
}

}  // namespace pitwall::imports
