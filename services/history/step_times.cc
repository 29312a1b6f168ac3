#include "services/history/step_times.h"

#include <algorithm>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

// Adds the column's values to the sums for their steps. Both columns are in time order.
void AddUp(const SampleColumn& column, const SampleColumn& durations, std::vector<double>* sums) {
  const bool alike =
      column.times == durations.times && column.steps == durations.steps;  // usually true
  size_t row = 0;
  for (size_t i = 0; i < column.values.size() && i < column.steps.size(); ++i) {
    if (alike) {
      row = i;
    } else {
      while (row < sums->size() && durations.times[row] < column.times[i]) ++row;
      if (row == sums->size()) return;
      if (durations.times[row] != column.times[i] || durations.steps[row] != column.steps[i])
        continue;
    }
    if (!std::isfinite(column.values[i])) continue;
    double& sum = (*sums)[row];
    sum = std::isnan(sum) ? column.values[i] : sum + column.values[i];
  }
}

}  // namespace

int64_t RankOf(const Labels& labels) { return ParseInt(labels.Get("rank")).value_or(-1); }

double MedianIn(std::vector<double>* values) {
  const size_t half = values->size() / 2;
  const auto middle = values->begin() + static_cast<ptrdiff_t>(half);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*std::max_element(values->begin(), middle) + *middle) / 2;
}

std::map<int64_t, RankColumns> ColumnsByRank(const std::vector<SampleColumn>& columns) {
  std::map<int64_t, RankColumns> ranks;
  for (const SampleColumn& column : columns) ranks[RankOf(column.labels)].push_back(&column);
  return ranks;
}

bool StepTimes::Read(const RankColumns& columns, bool own) {
  steps_.clear();
  seconds_.clear();
  const SampleColumn* durations = nullptr;
  for (const SampleColumn* column : columns) {
    if (column->labels.Name() != kStepDuration) continue;
    if (durations != nullptr) return false;
    durations = column;
  }
  if (durations == nullptr || durations->steps.empty()) return true;
  const size_t rows = durations->times.size();
  if (own) {
    waits_.assign(rows, NormalNan());
    clocks_.clear();
    for (const SampleColumn* column : columns) {
      if (column == durations) continue;
      if (column->labels.Name() == kPhaseDuration) {
        if (column->labels.Get("phase") == kCollective) AddUp(*column, *durations, &waits_);
      } else if (column->labels.Name() == kCollectiveTime) {
        const std::string_view clock = column->labels.Get("clock");
        auto at = std::find_if(clocks_.begin(), clocks_.end(),
                               [&](const ClockSums& sums) { return sums.clock == clock; });
        if (at == clocks_.end())
          at = clocks_.insert(at, {clock, std::vector<double>(rows, NormalNan())});
        AddUp(*column, *durations, &at->sums);
      }
    }
  }
  steps_.reserve(rows);
  seconds_.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    const double duration = durations->values[i];
    if (durations->steps[i] == kNoStep || !std::isfinite(duration)) continue;
    steps_.push_back(durations->steps[i]);
    if (!own) {
      seconds_.push_back(duration);
      continue;
    }
    double greatest = NormalNan();  // maximum over the clocks; takes precedence over the phase
    for (const ClockSums& clock : clocks_) {
      const double sum = clock.sums[i];
      if (!std::isnan(sum)) greatest = std::max(std::isnan(greatest) ? 0 : greatest, sum);
    }
    const double wait = std::isnan(greatest) ? waits_[i] : greatest;
    seconds_.push_back(std::isnan(wait) ? NormalNan() : std::max(0.0, duration - wait));
  }
  return true;
}

}  // namespace pitwall::history
