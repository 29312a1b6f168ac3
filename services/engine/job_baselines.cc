// Summaries of finished jobs in a running one: what was constant stands among the engine's own
// series and at every step, what went by steps at the same steps.
#include <algorithm>
#include <set>

#include "rules/plan/baseline.h"
#include "services/engine/job.h"
#include "services/engine/recordings.h"
#include "services/model/value.h"

namespace pitwall::engine {

std::vector<std::shared_ptr<const plan::Baseline>> Job::FindBaselines() const {
  const plan::ProgramPtr program = rules_ == nullptr ? nullptr : rules_->program();
  if (program == nullptr || program->baselines.empty()) return {};
  return plan::BaselinesFor(*program, identity_.id, identity_.name,
                            Labels::FromPairs(identity_.labels));
}

void Job::ChangeBaselines() {
  std::vector<plan::BaselinePtr> before = FindBaselines();
  before.swap(baselines_);
  if (before == baselines_ || watermark_ == kMinPosition) return;
  // Series of runs that no longer count end, as those of sources do.
  std::set<Labels> kept;
  std::set<std::pair<std::string_view, Labels>> kept_steps;
  for (const plan::BaselinePtr& run : baselines_) {
    for (const auto& [labels, value] : run->values) kept.insert(labels);
    for (const auto& of_mode : run->steps) {
      for (const Labels& labels : of_mode.series) kept_steps.insert({of_mode.mode, labels});
    }
  }
  const int64_t next = std::max(watermark_, own_series_at_) + 1;
  for (const plan::BaselinePtr& run : before) {
    for (const auto& [labels, value] : run->values) {
      if (kept.contains(labels)) continue;
      WriteOwnSeries(time_.get(), next, labels, StaleMarker());
      for (const auto& space : steps_) EndStepSeries(space.get(), labels);
    }
    for (const auto& of_mode : run->steps) {
      SpaceRunner* space = StepSpace(of_mode.mode);
      for (const Labels& labels : of_mode.series) {
        if (!kept_steps.contains({of_mode.mode, labels})) EndStepSeries(space, labels);
      }
    }
  }
}

void Job::EndStepSeries(SpaceRunner* space, const Labels& labels) {
  if (space == nullptr || space->watermark == kMinPosition) return;
  WriteOwnSeries(space, space->watermark + 1, labels, StaleMarker());
}

void Job::WriteBaselineSteps(SpaceRunner* space, int64_t to) {
  // Before the first step that is judged, as far back as any rule looks.
  const int64_t from =
      space->watermark == kMinPosition ? to - space->QuietHorizon() : space->watermark;
  for (const plan::BaselinePtr& run : baselines_) {
    const plan::Baseline::Steps* steps = run->StepsOf(space->clock().mode);
    if (steps == nullptr) continue;
    auto point =
        std::partition_point(steps->points.begin(), steps->points.end(),
                             [from](const auto& p) { return StepPosition(p.step) <= from; });
    for (; point != steps->points.end() && StepPosition(point->step) <= to; ++point) {
      WriteOwnSeries(space, StepPosition(point->step), steps->series[point->series], point->value);
    }
  }
}

void Job::WriteBaselineValues(SpaceRunner* space, int64_t tick) {
  // Only where something else came, or steps without any sample would never be quiet.
  if (space->store()->OldestOpen().value_or(kMaxPosition) > tick) return;
  for (const plan::BaselinePtr& run : baselines_) {
    for (const auto& [labels, value] : run->values) WriteOwnSeries(space, tick, labels, value);
  }
}

bool Job::BaselinesHave(std::string_view metric) const {
  return std::any_of(baselines_.begin(), baselines_.end(),
                     [metric](const plan::BaselinePtr& run) { return run->Has(metric); });
}

void SpaceRecordings::Recorded(const Labels& labels, int64_t /*position*/, double value) {
  if (!IsStale(value)) to_->Recorded(*job_, clock_, at_, labels, value);
}

void Job::ObserveRecordings() {
  if (options_.recordings == nullptr) return;
  observers_.clear();
  const auto observe = [this](SpaceRunner* space) {
    observers_.push_back(
        std::make_unique<SpaceRecordings>(&identity_, space->clock(), options_.recordings));
    space->SetObserver(observers_.back().get());
  };
  if (time_ != nullptr) observe(time_.get());
  for (const auto& space : steps_) observe(space.get());
}

}  // namespace pitwall::engine
