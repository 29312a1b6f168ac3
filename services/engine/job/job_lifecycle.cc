#include "services/engine/job/job_lifecycle.h"

#include <algorithm>

#include "services/base/time.h"
#include "services/engine/sources/log_time.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::engine {

namespace {

// Calls `f` for each text field of a reference, in snapshot order.
template <typename Reference, typename F>
void ForEachField(Reference& r, F f) {
  for (auto* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue})
    f(*field);
}

void SaveNames(const JobIdentity& job, BinaryWriter& out) {
  out.Str(job.name);
  ForEachField(job.reference, [&](const std::string& field) { out.Str(field); });
  out.U64(job.labels.size());
  for (const Label& label : job.labels) {
    out.Str(label.name);
    out.Str(label.value);
  }
}

void RestoreNames(BinaryReader& in, JobIdentity* job) {
  job->name = in.Str();
  ForEachField(job->reference, [&](std::string& field) { field = in.Str(); });
  job->labels.resize(in.Count(2));
  for (Label& label : job->labels) {
    label.name = in.Str();
    label.value = in.Str();
  }
}

}  // namespace

JobLifecycle::JobLifecycle(const EngineOptions& options, JobIdentity* job, EngineCounters* counters,
                           JobClock* clock, JobAttempt* attempt, StepInput* steps, JobRules* rules)
    : options_(options),
      job_(job),
      clock_(clock),
      attempt_(attempt),
      steps_(steps),
      rules_(rules),
      changes_(job, &attempt->ranks().failures(), counters) {}

std::optional<Duration> JobLifecycle::OverIn() const {
  const std::optional<EventTime>& died_at = attempt_->ranks().died_at();
  if (ended() || !died_at.has_value()) return std::nullopt;
  return std::max(*died_at + options_.ends.restart_grace - clock_->watermark(), Duration::Zero());
}

void JobLifecycle::EmitStarted(EventTime at, EventSink* out) {
  changes_.EmitStarted(at, attempt_->number(), out);
}

void JobLifecycle::EmitRankLost(const Source& source, const RankLost& lost, EventTime at,
                                EventSink* out) {
  IssueEvent* event = changes_.Emit(JobChange::kRankLost, EndDetail::kDied, at,
                                    source.attempt.value_or(attempt_->number()), out);
  event->lost_rank = LostRank{.rank = source.info.rank,
                              .node = source.info.node,
                              .signal = lost.signal,
                              .exit_code = lost.exit_code,
                              .oom_killed = lost.oom_killed};
}

void JobLifecycle::BeginAttempt(uint64_t number, const Source& first, const SourceMap& sources,
                                EventTime at, EventSink* out) {
  if (attempt_->started()) {
    // No event reported the end of this attempt: its ranks were replaced, or some have since been
    // lost.
    const AttemptRanks& ranks = attempt_->ranks();
    const EndDetail detail = ranks.has_lost() ? ranks.DetailOfDeath() : EndDetail::kNone;
    if (attempt_->open())
      changes_.Emit(JobChange::kAttemptEnded, detail, at, attempt_->number(), out);
    steps_->FinishAll(at, out);
    EndIssues(at, detail, out);
    steps_->BeginAttempt();
  }
  rules_->series().RepeatWritten(at.Previous());
  if (ClockDomain* time = rules_->domains().time(); time != nullptr) time->BeginAttempt(at);
  attempt_->Begin(number, first);
  absl::flat_hash_set<std::string_view> nodes;
  for (const auto& [key, source] : sources) {
    if (source->process.running) nodes.insert(source->info.node);
  }
  attempt_->ranks().BeginAttempt(nodes);
  changes_.Emit(JobChange::kAttemptBegan, EndDetail::kNone, at, number, out);
  rules_->series().BeginAttempt(number, at);
}

void JobLifecycle::Reopen(const Source& source, EventTime at, EventSink* out) {
  if (attempt_->Reopen(source))
    changes_.Emit(JobChange::kAttemptBegan, EndDetail::kNone, at, attempt_->number(), out);
}

void JobLifecycle::EmitAttemptEnded(EventTime at, EventSink* out) {
  attempt_->Close();
  changes_.Emit(JobChange::kAttemptEnded, attempt_->ranks().DetailOfDeath(), at, attempt_->number(),
                out);
}

void JobLifecycle::EndIssues(EventTime at, EndDetail detail, EventSink* out) {
  rules_->issues().EndAttempt(attempt_->ContextAt(at), detail, out);
}

IssueEvent* JobLifecycle::End(EventTime at, EndDetail detail, bool by_event, EventSink* out) {
  EmitStarted(at, out);
  if (attempt_->open())
    changes_.Emit(JobChange::kAttemptEnded, detail, at, attempt_->number(), out);
  attempt_->Close();
  steps_->FinishAll(at, out);
  rules_->issues().EndJob(attempt_->ContextAt(at), detail, out);
  tombstone_.End(at, by_event);
  return changes_.Emit(JobChange::kEnded, detail, at, attempt_->number(), out);
}

void JobLifecycle::TickTombstone(Duration elapsed) {
  tombstone_.Tick(elapsed, options_.ends.tombstone);
}

bool JobLifecycle::IsResumedBy(const Batch& batch) const {
  return tombstone_.IsResumedBy(batch, attempt_->ranks().died_at());
}

void JobLifecycle::Resume() {
  changes_.Resume(attempt_->started());
  clock_->Resume(tombstone_.ended_at());
  tombstone_.Resume();
  attempt_->Resume();
  job_->withheld.clear();
  job_->limit_reason.clear();
}

void JobLifecycle::Amend(AppendTime append_time, const Batch& batch, EventSink* out) {
  for (const JobEvent& event : batch.events) {
    if (event.kind != JobEvent::Kind::kEnded || tombstone_.by_event()) continue;
    tombstone_.Amend(std::min(event.time, EventTimeAt(append_time)));
    const EventTime at = ended_at();
    IssueEvent* ended = changes_.Emit(JobChange::kEnded, attempt_->ranks().DetailOfEnd(event, at),
                                      at, attempt_->number(), out);
    if (const auto end = PlatformEndOf(event)) ended->summary = TextOf(*end);
  }
}

void JobLifecycle::Save(BinaryWriter& out) const {
  tombstone_.SaveEnd(out);
  out.I64(attempt_->ranks().died_at().value_or(EventTime::Earliest()).ns());
  out.I64(clock_->floor().ns());
  changes_.Save(out);
  attempt_->Save(out);
  SaveNames(*job_, out);
}

void JobLifecycle::Restore(BinaryReader& in) {
  tombstone_.RestoreEnd(in);
  const EventTime died_at = EventTime::FromNs(in.I64());
  clock_->Resume(EventTime::FromNs(in.I64()));
  changes_.Restore(in);
  attempt_->Restore(in);
  if (died_at != EventTime::Earliest()) attempt_->ranks().RestoreDeath(died_at);
  RestoreNames(in, job_);
}

}  // namespace pitwall::engine
