#include "services/engine/clocks/job_baselines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/model/value.h"

namespace pitwall::engine {

JobBaselines::Runs JobBaselines::Matching() const {
  const CompiledRulesPtr& rules = domains_->rules();
  const plan::ProgramPtr program = rules == nullptr ? nullptr : rules->program();
  if (program == nullptr || program->baselines.empty()) return {};
  return plan::BaselinesFor(*program, job_->id, job_->name, Labels::FromPairs(job_->labels));
}

void JobBaselines::Take(Runs runs) {
  runs_ = std::move(runs);
  columns_.clear();
  schema_ = Schema();
  values_.clear();
  for (const plan::BaselinePtr& run : runs_) {
    for (const auto& [labels, value] : run->values) {
      schema_.series.push_back({labels, SeriesKind::kGauge});
      values_.push_back(value);
    }
  }
}

void JobBaselines::Find() { Take(Matching()); }

void JobBaselines::Change(Position position) {
  Runs found = Matching();
  if (found == runs_) return;
  const Runs before = runs_;
  Take(std::move(found));
  std::set<Labels> kept;
  std::set<std::pair<std::string_view, Labels>> kept_steps;
  for (const plan::BaselinePtr& run : runs_) {
    for (const auto& [labels, value] : run->values) kept.insert(labels);
    for (const auto& of_mode : run->steps) {
      for (const Labels& labels : of_mode.series) kept_steps.insert({of_mode.mode, labels});
    }
  }
  for (const plan::BaselinePtr& run : before) {
    for (const auto& [labels, value] : run->values) {
      if (kept.contains(labels)) continue;
      writer_->WriteSample(domains_->time(), position, labels, StaleMarker());
      for (const auto& domain : domains_->steps()) EndStepSeries(domain.get(), labels);
    }
    for (const auto& of_mode : run->steps) {
      ClockDomain* domain = domains_->steps().Shared(of_mode.mode);
      for (const Labels& labels : of_mode.series) {
        if (!kept_steps.contains({of_mode.mode, labels})) EndStepSeries(domain, labels);
      }
    }
  }
}

void JobBaselines::EndStepSeries(ClockDomain* domain, const Labels& labels) {
  if (domain == nullptr || domain->ticks().watermark() == Position::Earliest()) return;
  writer_->WriteSample(domain, domain->ticks().watermark().Next(), labels, StaleMarker());
}

void JobBaselines::WriteSteps(ClockDomain* domain, Position to) {
  // Before the first evaluated step, points are written as far back as any rule looks. At a step
  // jump, points are written only within that distance of the old and the new position. Points in
  // between would not be compared with any data, but each would cause a tick.
  const Duration horizon = domain->ticks().quiet_horizon();
  const Position watermark = domain->ticks().watermark();
  const Position from = watermark == Position::Earliest() ? to - horizon : watermark;
  const Position near_before = from + horizon;
  const Position near_after =
      PositionOf(domain->pace().times.FirstAfter(StepOf(near_before))) - horizon;
  for (const plan::BaselinePtr& run : runs_) {
    const plan::Baseline::Steps* steps = run->StepsOf(domain->clock().mode);
    if (steps == nullptr) continue;
    auto point =
        std::partition_point(steps->points.begin(), steps->points.end(),
                             [from](const auto& p) { return PositionOf(Step(p.step)) <= from; });
    for (; point != steps->points.end() && PositionOf(Step(point->step)) <= to; ++point) {
      const Position position = PositionOf(Step(point->step));
      if (position > near_before && position < near_after) continue;
      writer_->WriteSample(domain, position, steps->series[point->series], point->value);
    }
  }
}

void JobBaselines::WriteAtTick(ClockDomain* domain, Position tick) {
  // Writes the row only if another row is due at the tick. Otherwise, a step clock without other
  // rows would never become quiet.
  if (domain->store()->OldestOpen().value_or(Position::Latest()) > tick) return;
  WriteRow(domain, tick);
}

void JobBaselines::WriteRow(ClockDomain* domain, Position position) {
  if (values_.empty()) return;
  std::unique_ptr<BoundColumns>& columns = columns_[domain];
  if (columns == nullptr) columns = std::make_unique<BoundColumns>();
  writer_->WriteOwnRow(domain, position, schema_, columns.get(), values_);
}

bool JobBaselines::Has(std::string_view metric) const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [metric](const plan::BaselinePtr& run) { return run->Has(metric); });
}

}  // namespace pitwall::engine
