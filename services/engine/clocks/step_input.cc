#include "services/engine/clocks/step_input.h"

#include <algorithm>

namespace pitwall::engine {

StepInput::StepInput(const EngineOptions& options, EngineCounters* counters, LimitReport* limits,
                     SourceTable* sources, JobRules* rules, const JobAttempt* attempt)
    : options_(options),
      counters_(counters),
      limits_(limits),
      sources_(sources),
      rules_(rules),
      attempt_(attempt),
      placement_(sources, &rules->domains(), &rules->writer(), limits),
      evaluation_(rules, attempt) {}

bool StepInput::HasRoomForMode(const Source& source, const std::string& mode) {
  if (source.HasRoomForMode(mode, options_)) return true;
  limits_->CountMode();
  return false;
}

void StepInput::Announce(Source* source, const std::vector<std::string>& modes) {
  sources_->ChangeSteps(source, [&](Source* s) {
    for (const std::string& mode : modes) {
      if (!HasRoomForMode(*s, mode)) continue;
      StepProgress& progress = s->steps[mode];
      progress.announced = true;
      placement_.NoteReached(mode, &progress);
    }
    s->step_live = true;
  });
}

void StepInput::Promise(Source* source, const std::string& mode, Step step, EventTime at,
                        EventSink* out) {
  if (!HasRoomForMode(*source, mode)) return;
  StepProgress& progress = source->steps[mode];
  progress.announced = true;
  const bool further = step > progress.promise;
  progress.promise = std::max(progress.promise, step);
  const StepClocks& clocks = rules_->domains().steps();
  ClockDomain* domain = clocks.Find(mode, progress.clock);
  ClockDomain* shared = clocks.Shared(mode);
  if (domain == nullptr && shared != nullptr && PositionOf(step) > shared->ticks().watermark()) {
    placement_.Move(source, mode,
                    kSharedClock);  // The rank has caught up, so it logs no data for this step.
    domain = shared;
  }
  if (domain != nullptr && further) {
    StepPace& pace = domain->pace();
    const uint64_t reached = pace.times.count();
    pace.patience.Promised(reached - std::min(reached, progress.reached));
    progress.reached = reached;
  }
  sources_->ChangeSteps(source, [](Source* s) { s->step_live = true; });
  if (domain != nullptr) Advance(domain, at, out);
}

void StepInput::Advance(ClockDomain* domain, EventTime at, EventSink* out) {
  placement_.DropLaggards(domain);
  const Step least = sources_->order().LeastStepPromise(domain->clock().mode, domain->id().clock);
  if (least == WatermarkIndex::kNoPromise || least == Step::None()) return;
  evaluation_.EvaluateTo(domain, PositionOf(least), at, out);
}

void StepInput::AdvanceWithout(const Source& source, bool ended, EventTime at, EventSink* out) {
  for (const auto& domain : rules_->domains().steps()) {
    const std::string& mode = domain->clock().mode;
    if (sources_->order().LeastStepPromise(mode, domain->id().clock) !=
        WatermarkIndex::kNoPromise) {
      Advance(domain.get(), at, out);
      continue;
    }
    const auto progress = source.steps.find(mode);
    if (progress == source.steps.end() || progress->second.clock != domain->id().clock) continue;
    // This was the last source on the clock. If it may return, only the steps that it has promised
    // are evaluated.
    if (ended) {
      evaluation_.Finish(domain.get(), at, out);
    } else if (progress->second.promise != Step::None()) {
      evaluation_.EvaluateTo(domain.get(), PositionOf(progress->second.promise), at, out);
    }
  }
}

void StepInput::Apply(const RowRef& row, Step step, EventSink* out) {
  PendingFrame* frame = row.frame;
  Source* source = row.source;
  if (!HasRoomForMode(*source, frame->mode)) return;
  StepProgress& progress = source->steps[frame->mode];
  if (progress.promise != Step::None() && step <= progress.promise)
    Restart(source, frame->mode, row.time, out);
  const bool first = step > progress.last;
  progress.last = std::max(progress.last, step);
  if (!source->step_live) {
    sources_->ChangeSteps(source, [&](Source* s) {
      s->step_live = true;
      placement_.NoteReached(frame->mode, &progress);
    });
  }
  if (rules_->domains().steps().Shared(frame->mode) == nullptr) return;
  ClockDomain* domain = placement_.ClockOfStep(source, frame->mode, step, first);
  if (domain == nullptr) {
    counters_->Count(Drop::kLateStep, frame->columns());
    return;
  }
  domain->pace().times.Saw(step, row.time);
  rules_->writer().WriteStepRow(row, step, domain);
}

// As in a new attempt, windows on the rank's clock restart, and every rank on the clock must send a
// new promise. If the shared clock restarts, all ranks return to it.
void StepInput::Restart(Source* source, const std::string& mode, EventTime at, EventSink* out) {
  StepProgress& its = source->steps[mode];
  const uint32_t clock = its.clock;
  if (clock == kNoClock) {
    its.promise = its.last = Step::None();
    return;
  }
  const bool all = clock == kSharedClock;
  for (const auto& domain : rules_->domains().steps()) {
    if (domain->clock().mode != mode || (!all && domain->id().clock != clock)) continue;
    if (domain->ticks().watermark() != Position::Earliest())
      evaluation_.Finish(domain.get(), at, out);
    rules_->issues().EndOnClock(domain.get(), attempt_->ContextAt(at), out);
    domain->RestartWindows();
  }
  for (const auto& [key, other] : sources_->all()) {
    const auto progress = other->steps.find(mode);
    if (progress == other->steps.end() || (!all && progress->second.clock != clock)) continue;
    sources_->ChangeSteps(other.get(), [&](Source*) {
      progress->second.promise = progress->second.last = Step::None();
    });
  }
  if (all) placement_.ReturnAll(mode);
}

void StepInput::BeginAttempt() {
  for (const auto& domain : rules_->domains().steps()) domain->RestartWindows();
  placement_.ReturnAll();
}

void StepInput::JudgeNeeds(EventTime at, const JobIdentity& job, EventSink* out) {
  if (rules_->domains().steps().empty()) return;
  const auto carried = [this](std::string_view metric) {
    for (const auto& [key, source] : sources_->all()) {
      if (source->step_live && !source->steps.empty() && source->Carries(metric)) return true;
    }
    return rules_->baselines().Has(metric);
  };
  evaluation_.JudgeNeeds(at, carried, job, out);
}

void StepInput::NameMissingRanks() {
  for (const auto& domain : rules_->domains().steps()) {
    if (domain->id().is_shared()) placement_.NameMissingRanks(domain->clock().mode);
  }
}

}  // namespace pitwall::engine
