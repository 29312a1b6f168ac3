#include "services/engine/job/job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/engine/sources/silent_nodes.h"

namespace pitwall::engine {
namespace {
constexpr std::string_view kOtherOwner = "other_owner";
}  // namespace

Job::Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
         EngineCounters* counters)
    : options_(options),
      counters_(counters),
      state_(std::move(id), options_, counters),
      ticks_(&state_.identity, &state_.clock, &state_.rules, &state_.steps, &state_.attempt),
      ends_(options_, &state_.identity, &state_.owner, &state_.input, &state_.rules.writer(),
            &state_.steps, &ticks_, &state_.attempt, &state_.lifecycle),
      reader_(options_, counters, &state_.clock, &state_.input, &state_.rules.series()),
      applier_(options_, counters, &state_.identity, &state_.clock, &state_.input, &state_.rules,
               &state_.steps, &ticks_, &state_.attempt, &state_.lifecycle, &ends_) {
  state_.rules.domains().SetRules(std::move(rules));
  state_.rules.Begin();
}

bool Job::TakeOwner(const Batch& batch) {
  if (state_.owner.Judge(batch, state_.lifecycle.ended()) == JobOwner::Verdict::kOurs) {
    state_.owner.Adopt(batch);
    state_.identity.owner = state_.owner.text();
    return true;
  }
  counters_->Count(Drop::kOtherOwner);
  if (!state_.lifecycle.ended() && state_.owner.Refuse(batch))
    state_.rules.series().Flag(batch.source, batch.info.node, kOtherOwner, true);
  return false;
}

bool Job::DisplaceFor(const Batch& batch, EventSink* out) {
  if (state_.owner.Judge(batch, state_.lifecycle.ended()) != JobOwner::Verdict::kDisplaces)
    return false;
  ++counters_->displaced_jobs;
  if (!state_.lifecycle.ended() && state_.clock.begun())
    state_.lifecycle.End(state_.clock.watermark(), EndDetail::kCancelled, /*by_event=*/false, out);
  state_.Forget();
  return true;
}

void Job::OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  EventSink* out) {
  ++counters_->batches;
  if (!TakeOwner(batch)) return;
  state_.log_time.OnBatch(at.append_time);
  if (state_.lifecycle.ended()) {
    if (!state_.lifecycle.IsResumedBy(batch)) {
      counters_->Count(Drop::kJobEnded);
      state_.lifecycle.Amend(at.append_time, batch, out);
      return;
    }
    state_.lifecycle.Resume();
    state_.log_time.Resume();
    state_.rules.Begin();
  }
  Source* source = reader_.Read(at, batch, raw, out);
  if (source == nullptr) return;
  Advance(reader_.liveness().OnBatch(source, batch.goodbye), out);
  state_.clock.NoteBatch();
}

void Job::OnTick(Duration elapsed, EventSink* out) {
  state_.log_time.OnTick(elapsed);
  if (state_.lifecycle.ended()) {
    state_.lifecycle.TickTombstone(elapsed);
    return;
  }
  for (const auto& [source, node] : state_.owner.Tick(elapsed))
    state_.rules.series().Flag(source, node, kOtherOwner, false);
  reader_.liveness().OnTick(elapsed, out);
  if (state_.clock.begun())
    state_.rules.series().WriteSilentNodes(SilentNodes(state_.input.sources().all(), options_));
  if (const EventTime least = state_.input.sources().order().LeastPromise();
      least != EventTime::Earliest()) {
    Advance(least, out);
  } else if (!state_.clock.begun()) {
    // No source has a trustworthy clock. The job starts at the log's append time, so that the rules
    // report missing data.
    if (state_.log_time.OnBlindTick(elapsed, options_))
      Advance(EventTimeAt(state_.log_time.last_append()), out);
  } else {
    Advance(state_.clock.watermark() + elapsed, out);
    if (!state_.lifecycle.ended() && state_.clock.silence() >= options_.ends.silence) {
      state_.lifecycle.End(state_.clock.watermark(), EndDetail::kSilent, /*by_event=*/false, out);
      state_.Forget();
    }
  }
  if (state_.lifecycle.ended()) return;
  ends_.RemoveExpired(state_.clock.begun() ? std::optional(state_.clock.watermark()) : std::nullopt,
                      out);
  if (state_.lifecycle.ended()) state_.Forget();
}

void Job::Advance(EventTime to, EventSink* out) {
  if (state_.lifecycle.ended() || to == EventTime::Earliest() || to <= state_.clock.passed())
    return;
  const bool first = !state_.clock.begun();
  state_.clock.Advance(to);
  if (ClockDomain* time = state_.rules.domains().time(); first && time != nullptr)
    time->ticks().SetOrigin(PositionOf(state_.clock.origin()));
  applier_.ApplyUpTo(to, out);
  state_.lifecycle.EmitStarted(to, out);
  if (state_.lifecycle.ended()) state_.Forget();
}

void Job::FinishInput(bool end_job, EventSink* out) {
  EventTime last = state_.clock.watermark();
  for (const auto& [key, source] : state_.input.sources().all())
    last = std::max({last, source->newest_sample, source->promise});
  if (last == EventTime::Earliest()) return;
  Advance(last, out);
  if (end_job && !state_.lifecycle.ended()) {
    state_.lifecycle.End(state_.clock.watermark(), EndDetail::kCompleted, /*by_event=*/true, out);
    state_.Forget();
  }
}

void Job::SetRules(CompiledRulesPtr rules, EventSink* out) {
  if (state_.lifecycle.ended()) {
    state_.rules.domains().SetRules(std::move(rules));
  } else {
    state_.rules.Replace(std::move(rules), state_.attempt.ContextAt(state_.clock.watermark()), out);
  }
}

void Job::DropAlerts() {
  if (!state_.lifecycle.ended() && state_.clock.begun())
    state_.rules.issues().Drop(state_.attempt.ContextAt(state_.clock.watermark()));
}

bool SavedAsEnded(std::string_view saved) {
  BinaryReader in(saved);
  (void)in.Str();
  return in.Bool() && in.ok();
}

}  // namespace pitwall::engine
