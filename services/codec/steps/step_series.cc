#include "services/codec/steps/step_series.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/codec/steps/frame_writer.h"
#include "services/codec/steps/phase_states.h"
#include "services/codec/steps/row_streams.h"
#include "services/codec/steps/series_names.h"
#include "services/codec/steps/step_modes.h"
#include "services/codec/steps/step_progress.h"
#include "services/model/value.h"

namespace pitwall::steps {
namespace {

constexpr size_t kMaxValueBytes = 4096;
constexpr size_t kMaxLabels = 60;
constexpr std::string_view kDropNames[kDrops] = {
    "too_many_phases", "too_many_metrics", "too_many_open_steps", "too_many_cells",
    "bad_name",        "late_phase",       "behind_promise"};

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

struct HeldValue {
  int64_t time_ns = 0;
  double value = 0;
};

struct PhasePart {
  int phase = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// State of a step that has not ended.
struct OpenStep {
  std::vector<int64_t> sums;  // per phase, from spans of earlier flushes; -1 if the phase has none
  std::vector<PhasePart> parts;
  absl::btree_map<uint32_t, HeldValue> values;  // by column, the latest value of each
};

struct PendingValue {
  uint32_t column = 0;
  int64_t time_ns = 0;
  double value = 0;
  int64_t step = kNoStep;
  int mode = -1;
};

struct PendingStep {
  int64_t step = 0;
  int mode = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

}  // namespace

std::string_view DropName(Drop drop) { return kDropNames[static_cast<size_t>(drop)]; }

struct StepSeries::Impl {
  explicit Impl(const Options& o)
      : options(o),
        rank(Cat(o.rank)),
        columns(o.first_stream, o.first_stream + 2, o.max_cells, o.cells_per_frame),
        progress(rank, o.world_size, &columns),
        states({.stream = o.first_stream + 1,
                .max_cells = o.max_cells,
                .cells_per_frame = o.cells_per_frame,
                .repeat_ns = o.state_repeat_ns,
                .min_state_ns = o.min_state_ns}),
        floor_ns(o.promised_ns),
        resuming(o.resumed) {}

  const Options options;
  const std::string rank;
  RowStreams columns;
  StepProgress progress;
  StepModes modes;
  PhaseStates states;
  StringMap<int> phases;
  std::vector<uint32_t> phase_columns;  // of the phase durations
  size_t metrics = 0;
  int64_t floor_ns = INT64_MIN;     // last promised time
  bool resuming = false;            // true until the first Flush
  int64_t earliest_ns = INT64_MAX;  // earliest end of a span or time of a value added
  absl::btree_map<std::pair<int, int64_t>, OpenStep> open;  // by (mode, step)
  std::vector<PendingStep> ended;
  std::vector<PendingValue> values;
  std::vector<Row> rows;
  std::array<uint64_t, kDrops> drops{};

  void Count(Drop drop, uint64_t n = 1) { drops[static_cast<size_t>(drop)] += n; }

  int ModeOf(std::string_view name) {
    const int mode = modes.FindOrAdd(name);
    if (mode < 0) Count(Drop::kBadName);
    return mode;
  }

  int PhaseOf(std::string_view name) {
    if (const auto it = phases.find(name); it != phases.end()) return it->second;
    if (!IsName(name)) {
      Count(Drop::kBadName);
      return kNoPhase;
    }
    if (phases.size() >= options.max_phases) {
      Count(Drop::kTooManyPhases);
      return kNoPhase;
    }
    const int phase = static_cast<int>(phases.size());
    phases.emplace(std::string(name), phase);
    phase_columns.push_back(columns.MainColumn(
        RankSeries("train_phase_duration_seconds", rank).With("phase", name), SeriesKind::kGauge));
    states.AddPhase(RankSeries("train_phase_state", rank).With("phase", name));
    return phase;
  }

  OpenStep* Open(int mode, int64_t step) {
    const auto key = std::pair(mode, step);
    if (const auto it = open.find(key); it != open.end()) return &it->second;
    if (open.size() >= options.max_open_steps) {
      Count(Drop::kTooManyOpenSteps);
      return nullptr;
    }
    return &open[key];
  }

  void AddPhase(const Span& span) {
    const int phase = PhaseOf(span.name);
    if (phase == kNoPhase) return;
    states.AddSpan(phase, span.start.ns(), span.end.ns());
    if (span.step == kNoStep) {
      rows.push_back(
          {span.end.ns(),
           kNoStep,
           {},
           {{phase_columns[static_cast<size_t>(phase)], Seconds((span.end - span.start).ns())}}});
      return;
    }
    const int mode = ModeOf(span.mode);
    if (mode < 0) return;
    const StepMode& m = modes.At(mode);
    if (span.step == m.closed_step && span.end.ns() <= m.closed_end_ns)
      return Count(Drop::kLatePhase);
    if (OpenStep* step = Open(mode, span.step))
      step->parts.push_back({phase, span.start.ns(), span.end.ns()});
  }

  std::optional<uint32_t> MetricColumn(const LoggedValue& value) {
    if (!IsName(value.metric) || IsReserved(value.metric) || value.labels.size() > kMaxLabels) {
      Count(Drop::kBadName);
      return std::nullopt;
    }
    std::vector<Label> labels = value.labels;
    for (const Label& label : labels) {
      if (!IsName(label.name) || label.name == kMetricName || label.value.size() > kMaxValueBytes) {
        Count(Drop::kBadName);
        return std::nullopt;
      }
    }
    // Reserved labels come last, because the last of two labels with the same name wins.
    labels.push_back({std::string(kMetricName), value.metric});
    labels.push_back({"rank", rank});
    labels.push_back({"mode", value.step != kNoStep && value.mode.empty() ? "train" : value.mode});
    const Labels series = Labels::FromPairs(std::move(labels));
    if (const auto column = columns.Find(value.metric, series)) return column;
    std::optional<uint32_t> column;
    if (metrics < options.max_metrics) {
      const SeriesKind kind =
          EndsWith(value.metric, "_total") ? SeriesKind::kCounter : SeriesKind::kGauge;
      const bool narrow = value.labels.empty() && columns.main_columns() < kMaxWideColumns;
      column =
          narrow ? columns.MainColumn(series, kind) : columns.AddWide(value.metric, series, kind);
    }
    if (!column.has_value()) Count(Drop::kTooManyMetrics);
    metrics += column.has_value() ? 1 : 0;
    return column;
  }

  void CloseSteps();
  void PlaceValues(bool finish);
  void ReleaseHeld(bool finish);
  void WriteRows(bool repeat_schemas, Batch* batch);
  void Flush(int64_t promise_ns, bool repeat_schemas, bool finish, Batch* batch);
};

// Converts ended steps into rows with the sums of their phases and the values held for them.
void StepSeries::Impl::CloseSteps() {
  std::stable_sort(ended.begin(), ended.end(),
                   [](const PendingStep& a, const PendingStep& b) { return a.end_ns < b.end_ns; });
  for (const PendingStep& step : ended) {
    StepMode& mode = modes.At(step.mode);
    modes.Use(step.mode);
    Row row{step.end_ns, step.step, mode.name, {}};
    progress.EndStep(step.step, step.start_ns, step.end_ns, &row);
    mode.phases.resize(phases.size());
    std::vector<int64_t> sums(phases.size(), 0);
    const auto it = open.find(std::pair(step.mode, step.step));
    if (it != open.end()) {
      OpenStep& known = it->second;
      for (size_t p = 0; p < known.sums.size(); ++p) {
        if (known.sums[p] < 0) continue;
        sums[p] = known.sums[p];
        mode.phases[p] = true;
      }
      known.sums.clear();
      // After a rollback, two steps with the same number may have ended since the last flush. Each
      // step takes only the phases up to its own end.
      std::erase_if(known.parts, [&](const PhasePart& part) {
        if (part.end_ns > step.end_ns) return false;
        int64_t& sum = sums[static_cast<size_t>(part.phase)];
        sum = SaturatingAdd(sum, part.end_ns - part.start_ns);
        mode.phases[static_cast<size_t>(part.phase)] = true;
        return true;
      });
      for (const auto& [column, held] : known.values) row.cells.emplace_back(column, held.value);
      known.values.clear();
      if (known.parts.empty()) open.erase(it);
    }
    for (size_t p = 0; p < sums.size(); ++p) {
      if (mode.phases[p]) row.cells.emplace_back(phase_columns[p], Seconds(sums[p]));
    }
    mode.closed_step = step.step;
    mode.closed_end_ns = step.end_ns;
    if (mode.open_step == step.step) mode.open_step = kNoStep;
    // Earlier steps that never ended get no row, so their phases are dropped. The running step is
    // kept, because training has rolled back to it.
    auto old = open.lower_bound(std::pair(step.mode, INT64_MIN));
    while (old != open.end() && old->first < std::pair(step.mode, step.step)) {
      if (old->first.second == mode.open_step) {
        ++old;
        continue;
      }
      for (const auto& [column, held] : old->second.values) {
        values.push_back({column, std::max(held.time_ns, floor_ns + 1), held.value,
                          old->first.second, step.mode});
      }
      old = open.erase(old);
    }
    rows.push_back(std::move(row));
  }
}

void StepSeries::Impl::PlaceValues(bool finish) {
  // Rows of the steps that just ended, keyed by (mode, step, end).
  absl::btree_map<std::tuple<int, int64_t, int64_t>, size_t> closing;
  size_t next_row = rows.size() - ended.size();
  for (const PendingStep& step : ended) closing[{step.mode, step.step, step.end_ns}] = next_row++;
  for (const PendingValue& value : values) {
    const bool with_step = value.step != kNoStep;
    if (with_step) {
      // Finds the first end at or after the value's time.
      const auto it = closing.lower_bound({value.mode, value.step, value.time_ns});
      if (it != closing.end() && std::get<0>(it->first) == value.mode &&
          std::get<1>(it->first) == value.step) {
        rows[it->second].cells.emplace_back(value.column, value.value);
        continue;
      }
      if (!finish && modes.At(value.mode).open_step == value.step) {
        if (OpenStep* step = Open(value.mode, value.step)) {
          step->values[value.column] = {value.time_ns, value.value};
          continue;
        }
      }
      modes.Use(value.mode);
    }
    rows.push_back({value.time_ns,
                    value.step,
                    with_step ? std::string_view(modes.At(value.mode).name) : "",
                    {{value.column, value.value}}});
  }
}

// Adds a row for each value of a step that never ended, at the earliest time that can still be
// emitted.
void StepSeries::Impl::ReleaseHeld(bool finish) {
  for (auto& [key, step] : open) {
    if (!finish && modes.At(key.first).open_step == key.second) continue;
    for (const auto& [column, held] : step.values) {
      modes.Use(key.first);
      rows.push_back({std::max(held.time_ns, floor_ns + 1),
                      key.second,
                      modes.At(key.first).name,
                      {{column, held.value}}});
    }
    step.values.clear();
  }
  // The phases of running steps are reduced to sums, so memory stays small regardless of the step's
  // length.
  for (auto& [key, step] : open) {
    for (const PhasePart& part : step.parts) {
      step.sums.resize(phases.size(), -1);
      int64_t& sum = step.sums[static_cast<size_t>(part.phase)];
      sum = SaturatingAdd(std::max<int64_t>(sum, 0), part.end_ns - part.start_ns);
    }
    step.parts.clear();
  }
  if (finish) open.clear();
}

void StepSeries::Impl::WriteRows(bool repeat_schemas, Batch* batch) {
  const size_t behind =
      std::erase_if(rows, [this](const Row& row) { return row.time_ns <= floor_ns; });
  Count(Drop::kBehindPromise, behind);
  Count(Drop::kTooManyCells, columns.Write(std::exchange(rows, {}), repeat_schemas, batch));
}

void StepSeries::Impl::Flush(int64_t promise_ns, bool repeat_schemas, bool finish, Batch* batch) {
  // The previous StepSeries' promise is unknown. It is before the earliest end, because everything
  // sent since then ends later. It is not after the current promise, because promises never
  // decrease. The floor below is the latest time with both properties. It drops no added data and
  // does not depend on a local clock.
  if (std::exchange(resuming, false) && earliest_ns > floor_ns)
    floor_ns = std::max(floor_ns, std::min(promise_ns, earliest_ns - 1));
  promise_ns = std::clamp(promise_ns, floor_ns, INT64_MAX - 1);
  CloseSteps();
  PlaceValues(finish);
  ended.clear();
  values.clear();
  ReleaseHeld(finish);
  if (std::optional<Row> row = progress.Repeat(promise_ns, floor_ns, options.state_repeat_ns))
    rows.push_back(*std::move(row));
  WriteRows(repeat_schemas, batch);
  Count(Drop::kTooManyCells, states.Write(promise_ns, floor_ns, repeat_schemas, batch));
  floor_ns = promise_ns;
}

StepSeries::StepSeries(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
StepSeries::~StepSeries() = default;
StepSeries::StepSeries(StepSeries&&) noexcept = default;
StepSeries& StepSeries::operator=(StepSeries&&) noexcept = default;

void StepSeries::AddSpan(const Span& span) {
  int64_t duration;
  if (__builtin_sub_overflow(span.end.ns(), span.start.ns(), &duration) || duration < 0) return;
  impl_->earliest_ns = std::min(impl_->earliest_ns, span.end.ns());
  if (span.kind == Span::Kind::kPhase) impl_->AddPhase(span);
  if (span.kind != Span::Kind::kStep || span.step == kNoStep) return;
  const int mode = impl_->ModeOf(span.mode);
  if (mode >= 0) impl_->ended.push_back({span.step, mode, span.start.ns(), span.end.ns()});
}

void StepSeries::AddValue(const LoggedValue& value) {
  impl_->earliest_ns = std::min(impl_->earliest_ns, value.time_ns);
  int mode = -1;
  if (value.step != kNoStep && (mode = impl_->ModeOf(value.mode)) < 0) return;
  const std::optional<uint32_t> column = impl_->MetricColumn(value);
  if (!column.has_value()) return;
  // Pitwall's markers are NaNs with a payload, so a logged NaN is replaced by the plain NaN.
  const double number = std::isnan(value.value) ? NormalNan() : value.value;
  impl_->values.push_back({*column, value.time_ns, number, value.step, mode});
}

void StepSeries::SetCurrent(std::string_view phase, int64_t since_ns, int64_t step,
                            std::string_view mode) {
  impl_->states.SetCurrent(phase.empty() ? kNoPhase : impl_->PhaseOf(phase), since_ns);
  if (phase.empty() && step == kNoStep) {
    // No step is running.
    impl_->modes.StopAll();
    return;
  }
  if (const int m = impl_->ModeOf(mode); m >= 0) impl_->modes.At(m).open_step = step;
}

void StepSeries::Flush(int64_t promise_ns, bool repeat_schemas, Batch* batch) {
  impl_->Flush(promise_ns, repeat_schemas, false, batch);
}

void StepSeries::Finish(int64_t promise_ns, Batch* batch) {
  impl_->Flush(promise_ns, false, true, batch);
}

bool StepSeries::Holds(std::string_view mode, int64_t step) const {
  const int known = impl_->modes.Find(mode);
  return known >= 0 && impl_->open.contains(std::pair(known, step));
}

const std::vector<std::string>& StepSeries::modes() const { return impl_->modes.used(); }
const std::array<uint64_t, kDrops>& StepSeries::drops() const { return impl_->drops; }

}  // namespace pitwall::steps
