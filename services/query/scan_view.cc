#include "services/query/scan_view.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/query/window_scan.h"

namespace pitwall::query {
namespace {

// Work units charged to the WorkMeter per series read.
constexpr size_t kSeriesWork = 16;

// Returns the same error as Prometheus, which checks the smoothing and trend factors only if there
// are samples.
Status CheckFactors(std::span<const double> arguments) {
  constexpr std::string_view kNames[] = {"smoothing", "trend"};
  for (size_t i = 0; i < 2; ++i) {
    if (arguments[i] > 0 && arguments[i] < 1) continue;
    char number[64];
    std::snprintf(number, sizeof number, "%f", arguments[i]);
    return InvalidArgument(Cat("invalid ", kNames[i], " factor. Expected: 0 < ",
                               i == 0 ? "sf" : "tf", " < 1, got: ", number));
  }
  return OkStatus();
}

struct LabelsByValue {
  size_t operator()(const Labels* labels) const { return absl::Hash<Labels>{}(*labels); }
  bool operator()(const Labels* a, const Labels* b) const { return *a == *b; }
};

// Returns the index of the first time after `position`, starting the search at index `from`.
// Windows advance in small steps, so the nearest elements are searched linearly first. Series from
// the same source usually advance by the same number of elements.
size_t FirstAfter(std::span<const int64_t> times, size_t from, int64_t position) {
  constexpr size_t kNear = 4;
  const size_t near = std::min(times.size(), from + kNear);
  while (from < near && times[from] <= position) ++from;
  if (from < near || from == times.size()) return from;
  size_t step = 1, low = from;
  while (low + step <= times.size() && times[low + step - 1] <= position) {
    low += step;
    step *= 2;
  }
  const auto end = times.begin() + static_cast<ptrdiff_t>(std::min(low + step, times.size()));
  return static_cast<size_t>(
      std::upper_bound(times.begin() + static_cast<ptrdiff_t>(low), end, position) - times.begin());
}

}  // namespace

struct ScanView::Bounds {
  int64_t begin = 0;
  int64_t end = 0;
};

struct ScanView::State {
  std::vector<double> values;
  std::vector<uint8_t> present;
  std::vector<size_t> first, past;  // the window of series i is [first[i], past[i])
  std::optional<int64_t> last_end;
  bool cached = false;  // true if `values` can be reused because the window does not move
  std::vector<double> arguments;
  std::vector<double> scratch;
  std::vector<int64_t> own_times;
  std::vector<double> own_values;
};

ScanView::ScanView(const DemandSet* demands, const QueryTimes* times, std::vector<Feed> feeds,
                   std::vector<size_t> feed_of, WorkMeter* meter)
    : demands_(demands),
      times_(times),
      feeds_(std::move(feeds)),
      feed_of_(std::move(feed_of)),
      meter_(meter),
      labels_(demands->selectors.size()),
      members_(feeds_.size()) {
  std::vector<size_t> feeds_of(labels_.size(), 0);
  for (const Feed& feed : feeds_) ++feeds_of[feed.selector];
  std::vector<absl::flat_hash_map<const Labels*, uint32_t, LabelsByValue, LabelsByValue>> known(
      labels_.size());
  for (size_t f = 0; f < feeds_.size(); ++f) {
    const uint32_t selector = feeds_[f].selector;
    std::vector<const Labels*>& labels = labels_[selector];
    for (const StoredSeries& series : feeds_[f].series) {
      auto column = static_cast<uint32_t>(labels.size());
      // Labels are unique within a feed, so the lookup is needed only if the selector has several
      // feeds.
      if (feeds_of[selector] > 1)
        column = known[selector].try_emplace(&series.labels, column).first->second;
      if (column == labels.size()) labels.push_back(&series.labels);
      members_[f].column.push_back(column);
      members_[f].has_markers.push_back(
          std::any_of(series.values.begin(), series.values.end(), IsStale) ? 1 : 0);
    }
  }
  for (const size_t feed : feed_of_) {
    auto state = std::make_unique<State>();
    if (feed < feeds_.size()) {
      const size_t columns = labels_[feeds_[feed].selector].size();
      state->values.assign(columns, 0);
      state->present.assign(columns, 0);
      state->first.assign(feeds_[feed].series.size(), 0);
      state->past.assign(feeds_[feed].series.size(), 0);
    }
    states_.push_back(std::move(state));
  }
}

ScanView::~ScanView() = default;

uint64_t ScanView::Generation(uint32_t /*selector*/) const { return 1; }

std::span<const Labels* const> ScanView::Series(uint32_t selector) const {
  return labels_[selector];
}

ScanView::Bounds ScanView::WindowAt(const Demand& demand) const {
  const int64_t end = times_->EndAt(demand.offset, tick_);
  return {end - (demand.kind == WindowKind::kInstant ? demand.lookback : demand.range), end};
}

void ScanView::Seek(const StoredSeries& series, const Bounds& bounds, size_t index,
                    State* state) const {
  const bool forward = state->last_end.has_value() && bounds.end >= *state->last_end;
  state->past[index] = FirstAfter(series.times, forward ? state->past[index] : 0, bounds.end);
  state->first[index] = FirstAfter(series.times, forward ? state->first[index] : 0, bounds.begin);
}

std::optional<size_t> ScanView::Newest(const StoredSeries& series, const Bounds& bounds,
                                       size_t index, State* state) {
  const bool forward = state->last_end.has_value() && bounds.end >= *state->last_end;
  size_t& past = state->past[index];
  past = FirstAfter(series.times, forward ? past : 0, bounds.end);
  if (past == 0 || series.times[past - 1] <= bounds.begin) return std::nullopt;
  return past - 1;
}

void ScanView::Samples(const StoredSeries& series, bool has_markers, size_t index, State* state,
                       std::span<const int64_t>* times, std::span<const double>* values) const {
  const size_t first = state->first[index], count = state->past[index] - first;
  *times = series.times.subspan(first, count);
  *values = series.values.subspan(first, count);
  if (!has_markers || std::none_of(values->begin(), values->end(), IsStale)) return;
  state->own_times.clear();
  state->own_values.clear();
  for (size_t i = 0; i < count; ++i) {
    if (IsStale((*values)[i])) continue;
    state->own_times.push_back((*times)[i]);
    state->own_values.push_back((*values)[i]);
  }
  *times = state->own_times;
  *values = state->own_values;
}

Column ScanView::Read(uint32_t demand, std::span<const double> arguments) {
  const Demand& wanted = demands_->demands[demand];
  State& state = *states_[demand];
  if (feed_of_[demand] >= feeds_.size()) return {};
  const bool same = std::equal(arguments.begin(), arguments.end(), state.arguments.begin(),
                               state.arguments.end());
  // predict_linear extrapolates to the tick, so its result changes even if the window does not
  // move.
  const bool fixed =
      times_->IsFixed(wanted.offset) && wanted.function != WindowFunction::kIntercept;
  if (fixed && state.cached && same) return {state.values, state.present};
  const Feed& feed = feeds_[feed_of_[demand]];
  const Members& members = members_[feed_of_[demand]];
  const Bounds bounds = WindowAt(wanted);
  for (size_t i = 0; i < feed.series.size(); ++i) {
    const StoredSeries& series = feed.series[i];
    const uint32_t column = members.column[i];
    state.present[column] = 0;
    if (!meter_->Add(kSeriesWork)) break;
    if (wanted.kind == WindowKind::kInstant) {
      const std::optional<size_t> newest = Newest(series, bounds, i, &state);
      if (!newest.has_value() || IsStale(series.values[*newest])) continue;
      state.present[column] = 1;
      state.values[column] = wanted.function == WindowFunction::kTimestamp
                                 ? PositionSeconds(series.times[*newest])
                                 : series.values[*newest];
      continue;
    }
    Seek(series, bounds, i, &state);
    if (state.first[i] == state.past[i]) continue;
    SampleWindow window;
    Samples(series, members.has_markers[i] != 0, i, &state, &window.times, &window.values);
    if (window.times.empty()) continue;
    if (!meter_->Add(window.times.size())) break;
    if (wanted.function == WindowFunction::kSmoothing) {
      const Status factors = CheckFactors(arguments);
      if (!factors.ok()) {
        meter_->Fail(factors);
        break;
      }
    }
    window.begin = bounds.begin;
    window.end = bounds.end;
    window.tick = tick_;
    const std::optional<double> value =
        ScanWindow(wanted.function, window, arguments, &state.scratch);
    if (!value.has_value()) continue;
    state.present[column] = 1;
    state.values[column] = *value;
  }
  state.last_end = bounds.end;
  state.cached = fixed;
  state.arguments.assign(arguments.begin(), arguments.end());
  return {state.values, state.present};
}

void ScanView::VisitWindows(uint32_t demand,
                            const std::function<void(const Labels&, std::span<const int64_t>,
                                                     std::span<const double>)>& visit) {
  State& state = *states_[demand];
  if (feed_of_[demand] >= feeds_.size()) return;
  const Feed& feed = feeds_[feed_of_[demand]];
  const Bounds bounds = WindowAt(demands_->demands[demand]);
  state.last_end.reset();
  for (size_t i = 0; i < feed.series.size(); ++i) {
    Seek(feed.series[i], bounds, i, &state);
    if (!meter_->Add(kSeriesWork + state.past[i] - state.first[i])) break;
    std::span<const int64_t> times;
    std::span<const double> values;
    Samples(feed.series[i], members_[feed_of_[demand]].has_markers[i] != 0, i, &state, &times,
            &values);
    if (!times.empty()) visit(feed.series[i].labels, times, values);
  }
}

}  // namespace pitwall::query
