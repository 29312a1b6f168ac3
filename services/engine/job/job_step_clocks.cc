// Step clocks (time-model.md, section 3): which clock a rank is on, and how far each one is judged.
#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"
#include "services/engine/job/job.h"

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
                      EventSink* out) {
  if (!TakeMode(*source, mode)) return;
  StepProgress& progress = source->steps[mode];
  progress.announced = true;
  const bool further = step > progress.promise;
  progress.promise = std::max(progress.promise, step);
  ClockDomain* domain = steps_.Find(mode, progress.clock);
  ClockDomain* shared = steps_.Shared(mode);
  if (domain == nullptr && shared != nullptr && StepPosition(step) > shared->watermark) {
    MoveToClock(source, mode, kSharedClock);  // it logs nothing for this step, and has caught up
    domain = shared;
  }
  if (domain != nullptr && further) {
    const uint64_t reached = domain->step_times().count();
    domain->patience().Promised(reached - std::min(reached, progress.reached));
    progress.reached = reached;
  }
  source->step_live = true;
  order_.UpdateSteps(source);
  if (domain != nullptr) AdvanceSteps(domain, at, out);
}

void Job::AdvanceSteps(ClockDomain* domain, int64_t at, EventSink* out) {
  DropLaggards(domain);
  const int64_t least = order_.LeastStepPromise(domain->clock().mode, domain->clock_id());
  if (least == kMaxPosition || least == kNoStep) return;
  EvaluateStepsTo(domain, StepPosition(least), at, out);
}

void Job::EvaluateStepsTo(ClockDomain* domain, int64_t to, int64_t at, EventSink* out) {
  if (to <= domain->watermark) return;
  // A first promise may cover many steps: each that was logged is judged.
  domain->StartAt(std::min(to, domain->store()->OldestOpen().value_or(to)));
  if (domain->is_shared()) WriteBaselineSteps(domain, to);
  domain->watermark = to;
  domain->SkipQuiet(to);
  for (int64_t tick = domain->NextTick(); tick <= to && !ended_; tick = domain->NextTick()) {
    const int64_t step = tick / kStepUnit;
    const int64_t seen = domain->step_times().At(step);
    const size_t first_event = out->events.size();
    if (domain->is_shared()) WriteBaselineValues(domain, tick);
    domain->Evaluate(
        {.position = tick, .time_ns = seen != 0 ? seen : at, .step = step, .attempt = attempt_},
        identity_, out);
    JoinIncidents(first_event, out);
    domain->SkipQuiet(to);
  }
}

void Job::AdvanceStepsWithout(const Source& source, bool ended, int64_t at, EventSink* out) {
  for (const auto& domain : steps_) {
    const std::string& mode = domain->clock().mode;
    if (order_.LeastStepPromise(mode, domain->clock_id()) != kMaxPosition) {
      AdvanceSteps(domain.get(), at, out);
      continue;
    }
    const auto progress = source.steps.find(mode);
    if (progress == source.steps.end() || progress->second.clock != domain->clock_id()) continue;
    // It was the last one on this clock. One that may return has promised no more than this.
    if (ended) {
      FinishSteps(domain.get(), at, out);
    } else if (progress->second.promise != kNoStep) {
      EvaluateStepsTo(domain.get(), StepPosition(progress->second.promise), at, out);
    }
  }
}

void Job::FinishSteps(int64_t at, EventSink* out) {
  for (const auto& domain : steps_) FinishSteps(domain.get(), at, out);
}

void Job::FinishSteps(ClockDomain* domain, int64_t at, EventSink* out) {
  const int64_t newest = domain->step_times().Newest();
  if (newest != kNoStep) EvaluateStepsTo(domain, StepPosition(newest), at, out);
}

// A new attempt: every rank is on the shared clock again.
void Job::RestartStepClocks() {
  for (const auto& domain : steps_) {
    domain->RestartWindows();
    if (domain->is_shared()) domain->SetMissingRanks("");
  }
  steps_.RemoveAllSeparate();
  for (auto& [key, source] : sources_) {
    for (auto& [mode, progress] : source->steps) progress.clock = kSharedClock;
    order_.UpdateSteps(source.get());
  }
}

ClockDomain* Job::ClockOfStep(Source* source, const std::string& mode, int64_t step, bool first) {
  const StepProgress& progress = source->steps[mode];
  const int64_t position = StepPosition(step);
  ClockDomain* shared = steps_.Shared(mode);
  ClockDomain* domain = steps_.Find(mode, progress.clock);
  if (first && position > shared->watermark) {
    // It has caught up. It keeps its clock while an issue of it is open, so that the issue stays
    // open.
    if (domain == nullptr || (domain != shared && !domain->HasActiveAlerts())) domain = shared;
  } else if (first && progress.announced && (domain == nullptr || position <= domain->watermark)) {
    domain = SeparateClock(mode, position);
  }
  if (domain == nullptr) return nullptr;
  if (domain->clock_id() != progress.clock) MoveToClock(source, mode, domain->clock_id());
  return position > domain->watermark ? domain : nullptr;
}

// A clock that judges `position` next, for ranks that fell behind the shared one: that of others as
// far behind, else a new one.
ClockDomain* Job::SeparateClock(const std::string& mode, int64_t position) {
  ClockDomain* shared = steps_.Shared(mode);
  ClockDomain* below = steps_.SeparateBelow(mode, position);
  const auto distance = static_cast<int64_t>(shared->patience().Distance(shared->step_times()));
  if (below != nullptr && below->watermark != kMinPosition &&
      position - below->watermark <= StepPosition(distance))
    return below;
  if (steps_.CountSeparate(mode) < options_.max_separate_clocks_per_mode) {
    auto runner = std::make_unique<ClockDomain>(program_, shared->domain_index(), options_,
                                                counters_, steps_.NextId());
    runner->SetParameters(rules_->ParametersFor(shared->domain_index(), identity_));
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
  if (ClockDomain* domain = steps_.Find(mode, clock); domain != nullptr)
    progress.reached = domain->step_times().count();
  if (before != kNoClock && before != kSharedClock) {
    const bool used = std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
      const auto at = other.second->steps.find(mode);
      return at != other.second->steps.end() && at->second.clock == before;
    });
    ClockDomain* domain = steps_.Find(mode, before);
    if (!used && domain != nullptr && !domain->HasActiveAlerts())
      steps_.RemoveSeparate(mode, before);
  }
  NameMissingRanks(mode);
}

// Takes ranks off the clock for which it has waited too long (time-model.md 3.2).
void Job::DropLaggards(ClockDomain* domain) {
  const std::string& mode = domain->clock().mode;
  for (;;) {
    const Source* slowest = order_.AnySlowest(mode, domain->clock_id());
    if (slowest == nullptr || !Lags(*slowest, domain)) return;
    const std::vector<Source*> all = order_.Slowest(mode, domain->clock_id());
    // While one of them does not lag, the clock waits for its promise anyway.
    if (!std::all_of(all.begin(), all.end(),
                     [&](const Source* source) { return Lags(*source, domain); }))
      return;
    for (Source* source : all) MoveToClock(source, mode, kNoClock);
  }
}

bool Job::Lags(const Source& source, ClockDomain* domain) const {
  const StepProgress& progress = source.steps.at(domain->clock().mode);
  if (order_.GreatestStepPromise(domain->clock().mode, domain->clock_id()) == progress.promise)
    return false;
  const StepTimes& times = domain->step_times();
  const uint64_t silent = times.count() - std::min(times.count(), progress.reached);
  const uint64_t behind = times.CountAfter(progress.promise);
  if (silent < StepPatience::kFewest && behind < 2 * StepPatience::kFewest) return false;
  return silent >= domain->patience().Steps(times) || behind >= domain->patience().Distance(times);
}

void Job::NameMissingRanks(const std::string& mode) {
  ClockDomain* shared = steps_.Shared(mode);
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
