// Step clocks (time-model.md, section 3): which clock a rank is on, and how far each one is judged.
#include <algorithm>
#include <utility>

#include "services/base/strings.h"
#include "services/engine/job.h"

namespace pitwall::engine {

namespace {

constexpr size_t kRanksNamed = 8;

// "rank 1", "ranks 1, 4, 5", at most kRanksNamed of them. `ranks` ascend.
std::string RanksText(const std::vector<int64_t>& ranks) {
  if (ranks.empty()) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kRanksNamed; ++i)
    CatTo(text, i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kRanksNamed) CatTo(text, ", and ", ranks.size() - kRanksNamed, " more");
  return text;
}

}  // namespace

void Job::PromiseStep(Source* source, const std::string& mode, int64_t step, int64_t at,
                      Outputs* out) {
  if (!TakeMode(*source, mode)) return;
  StepProgress& progress = source->steps[mode];
  progress.announced = true;
  const bool further = step > progress.promise;
  progress.promise = std::max(progress.promise, step);
  SpaceRunner* space = steps_.Find(mode, progress.clock);
  SpaceRunner* shared = steps_.Shared(mode);
  if (space == nullptr && shared != nullptr && StepPosition(step) > shared->watermark) {
    MoveToClock(source, mode, kSharedClock);  // it logs nothing for this step, and has caught up
    space = shared;
  }
  if (space != nullptr && further) {
    const uint64_t reached = space->step_times().count();
    space->patience().Promised(reached - std::min(reached, progress.reached));
    progress.reached = reached;
  }
  source->step_live = true;
  order_.UpdateSteps(source);
  if (space != nullptr) AdvanceSteps(space, at, out);
}

void Job::AdvanceSteps(SpaceRunner* space, int64_t at, Outputs* out) {
  DropLaggards(space);
  const int64_t least = order_.LeastStepPromise(space->clock().mode, space->clock_id());
  if (least == kMaxPosition || least == kNoStep) return;
  EvaluateStepsTo(space, StepPosition(least), at, out);
}

void Job::EvaluateStepsTo(SpaceRunner* space, int64_t to, int64_t at, Outputs* out) {
  if (to <= space->watermark) return;
  // A first promise may cover many steps: each that was logged is judged.
  space->StartAt(std::min(to, space->store()->OldestOpen().value_or(to)));
  if (space->is_shared()) WriteBaselineSteps(space, to);
  space->watermark = to;
  space->SkipQuiet(to);
  for (int64_t tick = space->NextTick(); tick <= to && !ended_; tick = space->NextTick()) {
    const int64_t step = tick / kStepUnit;
    const int64_t seen = space->step_times().At(step);
    const size_t first_event = out->events.size();
    if (space->is_shared()) WriteBaselineValues(space, tick);
    space->Evaluate(
        {.position = tick, .time_ns = seen != 0 ? seen : at, .step = step, .attempt = attempt_},
        identity_, out);
    JoinIncidents(first_event, out);
    space->SkipQuiet(to);
  }
}

void Job::AdvanceStepsWithout(const Source& source, bool ended, int64_t at, Outputs* out) {
  for (const auto& space : steps_) {
    const std::string& mode = space->clock().mode;
    if (order_.LeastStepPromise(mode, space->clock_id()) != kMaxPosition) {
      AdvanceSteps(space.get(), at, out);
      continue;
    }
    const auto progress = source.steps.find(mode);
    if (progress == source.steps.end() || progress->second.clock != space->clock_id()) continue;
    // It was the last one on this clock. One that may return has promised no more than this.
    if (ended) {
      FinishSteps(space.get(), at, out);
    } else if (progress->second.promise != kNoStep) {
      EvaluateStepsTo(space.get(), StepPosition(progress->second.promise), at, out);
    }
  }
}

void Job::FinishSteps(int64_t at, Outputs* out) {
  for (const auto& space : steps_) FinishSteps(space.get(), at, out);
}

void Job::FinishSteps(SpaceRunner* space, int64_t at, Outputs* out) {
  const int64_t newest = space->step_times().Newest();
  if (newest != kNoStep) EvaluateStepsTo(space, StepPosition(newest), at, out);
}

// A new attempt: every rank is on the shared clock again.
void Job::RestartStepClocks() {
  for (const auto& space : steps_) {
    space->RestartWindows();
    if (space->is_shared()) space->SetMissingRanks("");
  }
  steps_.RemoveAllSeparate();
  for (auto& [key, source] : sources_) {
    for (auto& [mode, progress] : source->steps) progress.clock = kSharedClock;
    order_.UpdateSteps(source.get());
  }
}

SpaceRunner* Job::ClockOfStep(Source* source, const std::string& mode, int64_t step, bool first) {
  const StepProgress& progress = source->steps[mode];
  const int64_t position = StepPosition(step);
  SpaceRunner* shared = steps_.Shared(mode);
  SpaceRunner* space = steps_.Find(mode, progress.clock);
  if (first && position > shared->watermark) {
    // It has caught up. It keeps its clock while an issue of it is open, so that the issue stays
    // open.
    if (space == nullptr || (space != shared && !space->HasActiveAlerts())) space = shared;
  } else if (first && progress.announced && (space == nullptr || position <= space->watermark)) {
    space = SeparateClock(mode, position);
  }
  if (space == nullptr) return nullptr;
  if (space->clock_id() != progress.clock) MoveToClock(source, mode, space->clock_id());
  return position > space->watermark ? space : nullptr;
}

// A clock that judges `position` next, for ranks that fell behind the shared one: that of others as
// far behind, else a new one.
SpaceRunner* Job::SeparateClock(const std::string& mode, int64_t position) {
  SpaceRunner* shared = steps_.Shared(mode);
  SpaceRunner* below = steps_.SeparateBelow(mode, position);
  const auto distance = static_cast<int64_t>(shared->patience().Distance(shared->step_times()));
  if (below != nullptr && below->watermark != kMinPosition &&
      position - below->watermark <= StepPosition(distance))
    return below;
  if (steps_.CountSeparate(mode) < options_.max_separate_clocks_per_mode) {
    auto runner = std::make_unique<SpaceRunner>(program_, shared->space_index(), options_,
                                                counters_, steps_.NextId());
    runner->SetParameters(rules_->ParametersFor(shared->space_index(), identity_));
    return steps_.AddSeparate(std::move(runner));
  }
  if (below == nullptr) {
    identity_.limit_reason =
        Cat("more than ", options_.max_separate_clocks_per_mode,
            " groups of ranks are behind in their steps: steps of further ranks were dropped");
  }
  return below;
}

void Job::MoveToClock(Source* source, const std::string& mode, uint32_t clock) {
  StepProgress& progress = source->steps[mode];
  MarkStepsStale(*source, mode);  // its series go on elsewhere, or nowhere
  const uint32_t before = std::exchange(progress.clock, clock);
  order_.UpdateSteps(source);
  if (SpaceRunner* space = steps_.Find(mode, clock); space != nullptr)
    progress.reached = space->step_times().count();
  if (before != kNoClock && before != kSharedClock) {
    const bool used = std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
      const auto at = other.second->steps.find(mode);
      return at != other.second->steps.end() && at->second.clock == before;
    });
    SpaceRunner* space = steps_.Find(mode, before);
    if (!used && space != nullptr && !space->HasActiveAlerts()) steps_.RemoveSeparate(mode, before);
  }
  NameMissingRanks(mode);
}

// Takes ranks off the clock for which it has waited too long (time-model.md 3.2).
void Job::DropLaggards(SpaceRunner* space) {
  const std::string& mode = space->clock().mode;
  for (;;) {
    const Source* slowest = order_.AnySlowest(mode, space->clock_id());
    if (slowest == nullptr || !Lags(*slowest, space)) return;
    const std::vector<Source*> all = order_.Slowest(mode, space->clock_id());
    // While one of them does not lag, the clock waits for its promise anyway.
    if (!std::all_of(all.begin(), all.end(),
                     [&](const Source* source) { return Lags(*source, space); }))
      return;
    for (Source* source : all) MoveToClock(source, mode, kNoClock);
  }
}

bool Job::Lags(const Source& source, SpaceRunner* space) const {
  const StepProgress& progress = source.steps.at(space->clock().mode);
  if (order_.GreatestStepPromise(space->clock().mode, space->clock_id()) == progress.promise)
    return false;
  const StepTimes& times = space->step_times();
  const uint64_t silent = times.count() - std::min(times.count(), progress.reached);
  const uint64_t behind = times.CountAfter(progress.promise);
  if (silent < StepPatience::kFewest && behind < 2 * StepPatience::kFewest) return false;
  return silent >= space->patience().Steps(times) || behind >= space->patience().Distance(times);
}

void Job::NameMissingRanks(const std::string& mode) {
  SpaceRunner* shared = steps_.Shared(mode);
  if (shared == nullptr) return;
  std::vector<int64_t> ranks;
  for (const auto& [key, source] : sources_) {
    const auto progress = source->steps.find(mode);
    if (source->here && progress != source->steps.end() && progress->second.clock != kSharedClock)
      ranks.push_back(source->info.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  shared->SetMissingRanks(RanksText(ranks));
}

}  // namespace pitwall::engine
