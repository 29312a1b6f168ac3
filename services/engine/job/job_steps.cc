// Attempts and step clocks (time-model.md, sections 3 and 4), in order of event time.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "services/engine/job/job.h"

namespace pitwall::engine {

void Job::ApplyStep(const RowRef& ref, int64_t step, EventSink* out) {
  PendingFrame* frame = ref.frame;
  Source* source = ref.source;
  if (!TakeMode(*source, frame->mode)) return;
  StepProgress& progress = source->steps[frame->mode];
  if (progress.promise != kNoStep && step <= progress.promise)
    RestartSteps(source, frame->mode, ref.time, out);
  const bool first = step > progress.last;
  progress.last = std::max(progress.last, step);
  if (!source->step_live) {
    source->step_live = true;
    if (const ClockDomain* domain = steps_.Find(frame->mode, progress.clock); domain != nullptr)
      progress.reached = domain->step_times().count();
    order_.UpdateSteps(source);
  }
  if (steps_.Shared(frame->mode) == nullptr) return;
  ClockDomain* domain = ClockOfStep(source, frame->mode, step, first);
  const size_t columns = frame->columns();
  if (domain == nullptr) {
    counters_->Count(Drop::kLateStep, columns);
    return;
  }
  domain->step_times().Saw(step, ref.time);
  const std::span<const double> values(frame->values.data() + ref.row * columns, columns);
  const window::RowKey key{StepPosition(step), source->id, source->boot, frame->sequence,
                           static_cast<uint32_t>(ref.row)};
  CountRefused(domain->store()->Append(key, StepColumns(frame->binding.get(), domain).plan, values),
               columns, "steps without promises: ranks log steps and do not promise them");
}

// The step fell inside the attempt (a roll-back to a checkpoint): windows of the rank's clock start
// again, as with a new attempt, and every rank on it promises again. When the shared clock does,
// all ranks return to it.
void Job::RestartSteps(Source* source, const std::string& mode, int64_t at, EventSink* out) {
  StepProgress& its = source->steps[mode];
  const uint32_t clock = its.clock;
  if (clock == kNoClock) {
    its.promise = its.last = kNoStep;
    return;
  }
  const bool all = clock == kSharedClock;
  for (const auto& domain : steps_) {
    if (domain->clock().mode != mode || (!all && domain->clock_id() != clock)) continue;
    if (domain->watermark != kMinPosition) FinishSteps(domain.get(), at, out);
    const size_t first_event = out->events.size();
    domain->EndAll(EndReason::kAttemptEnded, false, StepContext(*domain, ContextAt(at)), identity_,
                   out);
    JoinIncidents(first_event, out);
    domain->RestartWindows();
  }
  for (auto& [key, other] : sources_) {
    const auto progress = other->steps.find(mode);
    if (progress == other->steps.end() || (!all && progress->second.clock != clock)) continue;
    progress->second.promise = progress->second.last = kNoStep;
    if (all) progress->second.clock = kSharedClock;
    order_.UpdateSteps(other.get());
  }
  if (!all) return;
  steps_.RemoveAllSeparate(mode);
  NameMissingRanks(mode);
}

void Job::ApplyBoot(const TimelineEventKey& key, Source* source, EventSink* out) {
  source->booted = true;
  bool succeeded = false;  // a later boot has begun: this one was heard of too late
  for (Source* other : rank_boots_.OthersOf(*source, sources_)) {
    succeeded |= other->booted && other->info.start_ns > source->info.start_ns;
    if (other->ended_at == kMaxPosition && other->info.start_ns < source->info.start_ns)
      EndSource(other, key.position);
  }
  if (succeeded) {
    EndSource(source, key.position);
    return;
  }
  if (!source->IsRank()) return;
  if (source->info.attempt.has_value()) {
    if (!started_ || *source->info.attempt > attempt_) {
      BeginAttempt(*source->info.attempt, key.position, *source, out);
    } else if (*source->info.attempt < attempt_) {
      EndSource(source, key.position);
    }
    source->attempt = *source->info.attempt;
    return;
  }
  if (source->info.rank != 0) return;
  if (started_ && attempt_open_ && !attempt_by_rank_0_) {
    // Another rank finished a step before this one was heard of: it began their attempt.
    attempt_boot_ns_ = source->info.start_ns;
    attempt_by_rank_0_ = true;
  } else if (!started_ || source->info.start_ns > attempt_boot_ns_) {
    BeginAttempt(started_ ? attempt_ + 1 : next_attempt_, key.position, *source, out);
  } else if (source->info.start_ns < attempt_boot_ns_ && attempt_by_rank_0_) {
    // Older than the rank 0 that began this attempt, which has been forgotten since.
    EndSource(source, key.position);
    return;
  }
  source->attempt = attempt_;
}

void Job::BeginAttempt(uint64_t number, int64_t at, const Source& first, EventSink* out) {
  if (started_) {
    for (auto& [key, source] : sources_) {
      if (source.get() == &first || !source->IsRank() || !source->attempt.has_value() ||
          *source->attempt >= number)
        continue;
      if (source->ended_at == kMaxPosition) EndSource(source.get(), at);
    }
    // An attempt that nobody saw end: its ranks were replaced, or some were lost meanwhile.
    const EndDetail detail = ranks_lost_ > 0 ? DetailOfDeath() : EndDetail::kNone;
    if (attempt_open_) Tell(JobChange::kAttemptEnded, detail, at, attempt_, out);
    FinishSteps(at, out);
    EndIssuesOfAttempt(at, detail, out);
    RestartStepClocks();
  }
  if (own_series_at_ != kMinPosition) RepeatOwnSeries(at - 1);
  if (time_ != nullptr) time_->BeginAttempt(at);
  started_ = true;
  attempt_ = number;
  attempt_boot_ns_ = first.info.start_ns;
  attempt_by_rank_0_ = first.info.rank == 0;
  absl::flat_hash_set<std::string_view> nodes;
  for (const auto& [key, source] : sources_) {
    if (source->here) nodes.insert(source->info.node);
  }
  std::erase_if(launchers_gone_, [&](const auto& node) { return !nodes.contains(node.first); });
  attempt_open_ = true;
  died_at_ = kMinPosition;
  ranks_lost_ = 0;
  Tell(JobChange::kAttemptBegan, EndDetail::kNone, at, number, out);
  ForgetDeaths();
  CountAttempt(at);
  std::erase_if(own_series_, [](const auto& series) {
    return series.first.Get(kMetricName) == AttemptFailures::kLost;
  });
}

void Job::EndSource(Source* source, int64_t at) {
  source->ended_at = at;
  RankLeft(source);
  MarkStale(*source, at);
  source->step_live = false;
  for (auto& [mode, progress] : source->steps) {
    progress.announced = false;
    progress.promise = kNoStep;
  }
  if (source->promise >= at) source->live = false;
  order_.Update(source);
  order_.UpdateSteps(source);
}

void Job::JudgeStepRules(int64_t time_ns, EventSink* out) {
  if (steps_.empty()) return;
  const auto carried = [this](std::string_view metric) {
    for (const auto& [key, source] : sources_) {
      if (source->step_live && !source->steps.empty() && source->Carries(metric)) return true;
    }
    return BaselinesHave(metric);
  };
  for (const auto& domain : steps_) {
    if (!domain->is_shared()) continue;
    domain->JudgeNeeds(StepContext(*domain, ContextAt(time_ns)), carried, identity_, out);
  }
}

}  // namespace pitwall::engine
