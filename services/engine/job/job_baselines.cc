// Summaries of finished jobs in a running one: what was constant is among the engine's own
// series and at every step, what went by steps at the same steps.
#include <algorithm>
#include <set>

#include "rules/plan/baseline.h"
#include "services/engine/domain/recordings.h"
#include "services/engine/job/job.h"
#include "services/model/value.h"

namespace pitwall::engine {

std::vector<std::shared_ptr<const plan::Baseline>> Job::FindBaselines() const {
  const plan::ProgramPtr program = rules_ == nullptr ? nullptr : rules_->program();
  if (program == nullptr || program->baselines.empty()) return {};
  return plan::BaselinesFor(*program, identity_.id, identity_.name,
                            Labels::FromPairs(identity_.labels));
}

void Job::TakeBaselines(std::vector<plan::BaselinePtr> found) {
  baselines_ = std::move(found);
  baseline_columns_.clear();
  baseline_schema_ = Schema();
  baseline_values_.clear();
  for (const plan::BaselinePtr& run : baselines_) {
    for (const auto& [labels, value] : run->values) {
      baseline_schema_.series.push_back({labels, SeriesKind::kGauge});
      baseline_values_.push_back(value);
    }
  }
}

void Job::ChangeBaselines(int64_t at) {
  std::vector<plan::BaselinePtr> found = FindBaselines();
  if (found == baselines_) return;
  const std::vector<plan::BaselinePtr> before = baselines_;
  TakeBaselines(std::move(found));
  if (watermark_ == kMinPosition) return;
  // Series of runs that no longer count end, as those of sources do.
  std::set<Labels> kept;
  std::set<std::pair<std::string_view, Labels>> kept_steps;
  for (const plan::BaselinePtr& run : baselines_) {
    for (const auto& [labels, value] : run->values) kept.insert(labels);
    for (const auto& of_mode : run->steps) {
      for (const Labels& labels : of_mode.series) kept_steps.insert({of_mode.mode, labels});
    }
  }
  const int64_t next = std::max(at, own_series_at_) + 1;
  for (const plan::BaselinePtr& run : before) {
    for (const auto& [labels, value] : run->values) {
      if (kept.contains(labels)) continue;
      WriteOwnSeries(time_.get(), next, labels, StaleMarker());
      for (const auto& domain : steps_) EndStepSeries(domain.get(), labels);
    }
    for (const auto& of_mode : run->steps) {
      ClockDomain* domain = steps_.Shared(of_mode.mode);
      for (const Labels& labels : of_mode.series) {
        if (!kept_steps.contains({of_mode.mode, labels})) EndStepSeries(domain, labels);
      }
    }
  }
}

void Job::EndStepSeries(ClockDomain* domain, const Labels& labels) {
  if (domain == nullptr || domain->watermark == kMinPosition) return;
  WriteOwnSeries(domain, domain->watermark + 1, labels, StaleMarker());
}

void Job::WriteBaselineSteps(ClockDomain* domain, int64_t to) {
  // Before the first step that is judged, as far back as any rule looks. Where the step jumps, as
  // far as any rule looks from where it was and from where it is: points in between are compared
  // with nothing, and each would be a tick.
  const int64_t horizon = domain->QuietHorizon();
  const int64_t from = domain->watermark == kMinPosition ? to - horizon : domain->watermark;
  const int64_t near_before = from + horizon;
  const int64_t near_after =
      StepPosition(domain->step_times().FirstAfter(near_before / kStepUnit)) - horizon;
  for (const plan::BaselinePtr& run : baselines_) {
    const plan::Baseline::Steps* steps = run->StepsOf(domain->clock().mode);
    if (steps == nullptr) continue;
    auto point =
        std::partition_point(steps->points.begin(), steps->points.end(),
                             [from](const auto& p) { return StepPosition(p.step) <= from; });
    for (; point != steps->points.end() && StepPosition(point->step) <= to; ++point) {
      const int64_t position = StepPosition(point->step);
      if (position > near_before && position < near_after) continue;
      WriteOwnSeries(domain, position, steps->series[point->series], point->value);
    }
  }
}

void Job::WriteBaselineValues(ClockDomain* domain, int64_t tick) {
  // Only where something else came, or steps without any sample would never be quiet.
  if (domain->store()->OldestOpen().value_or(kMaxPosition) > tick) return;
  WriteBaselineRow(domain, tick);
}

void Job::WriteBaselineRow(ClockDomain* domain, int64_t position) {
  if (baseline_values_.empty()) return;
  std::unique_ptr<BoundColumns>& columns = baseline_columns_[domain];
  if (columns == nullptr) columns = std::make_unique<BoundColumns>();
  if (columns->generation != bindings_generation_) Bind(baseline_schema_, domain, columns.get());
  CountRefused(
      domain->store()->Append({position, kOwnSource, "", 0, 1}, columns->plan, baseline_values_),
      baseline_values_.size());
}

bool Job::BaselinesHave(std::string_view metric) const {
  return std::any_of(baselines_.begin(), baselines_.end(),
                     [metric](const plan::BaselinePtr& run) { return run->Has(metric); });
}

void Job::ObserveRecordings() {
  if (options_.recordings == nullptr) return;
  observers_.clear();
  const auto observe = [this](ClockDomain* domain) {
    observers_.push_back(
        std::make_unique<SpaceRecordings>(&identity_, domain->clock(), options_.recordings));
    domain->SetObserver(observers_.back().get());
  };
  if (time_ != nullptr) observe(time_.get());
  for (const auto& domain : steps_) observe(domain.get());
}

}  // namespace pitwall::engine
