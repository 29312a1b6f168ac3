#include "services/engine/job/attempt_ends.h"

#include <algorithm>

#include "services/model/issues/job_end.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::engine {

AttemptEnds::AttemptEnds(const EngineOptions& options, const JobIdentity* job,
                         const JobOwner* owner, JobInput* input, RowWriter* writer,
                         StepInput* steps, TickRunner* ticks, JobAttempt* attempt,
                         JobLifecycle* lifecycle)
    : options_(options),
      job_(job),
      owner_(owner),
      sources_(&input->sources()),
      schedule_(&input->schedule()),
      ticks_(ticks),
      steps_(steps),
      ranks_(&attempt->ranks()),
      attempt_(attempt),
      lifecycle_(lifecycle),
      source_ends_(sources_, writer, steps, attempt) {}

void AttemptEnds::OnRankLost(const JobEvent& event, EventTime at, EventSink* out) {
  const RankLost& lost = event.rank_lost;
  Source* source = sources_->Find(lost.source, lost.boot_id);
  if (source == nullptr || source->process.lost) return;
  if (at < source->ended_at) CountDeath(*source, event, at);
  if (ReportedFailure(event)) return;
  source->process.lost = true;
  if (source->process.running) ranks_->CountLost();
  ticks_->RunBelow(at.Next(), out);
  if (source->ended_at == EventTime::Latest()) {
    source_ends_.End(source, at.Next());
    steps_->AdvanceWithout(*source, /*ended=*/true, at, out);
  }
  lifecycle_->EmitRankLost(*source, lost, at, out);
  DieWithoutRanks(at, out);
}

void AttemptEnds::OnLauncherGone(const Source& reporter, EventTime at, EventSink* out) {
  if (!ranks_->OnLauncherGone(reporter.info.node)) return;
  if (!ranks_->died_at().has_value() || !ranks_->LaunchersGone()) return;
  ticks_->RunBelow(at.Next(), out);
  ranks_->failures().SetGone(true);
  EndWithoutLauncher(at, out);
}

void AttemptEnds::DieWithoutRanks(EventTime at, EventSink* out) {
  if (lifecycle_->ended() || !ranks_->MustDie()) return;
  ranks_->Die(at);
  if (attempt_->open()) {
    const AttemptFailures& failures = ranks_->failures();
    const bool seen = at >= failures.seen_by();
    // The platform may still report the reason for the end.
    if (seen || !failures.waits_for_platform()) lifecycle_->EmitAttemptEnded(at, out);
    // The issue that caused the death stays open until the rules have seen the death, so that both
    // join the same incident.
    if (seen) {
      lifecycle_->EndIssues(at, ranks_->DetailOfDeath(), out);
    } else {
      ScheduleCheck(failures.seen_by());
    }
  }
  if (ranks_->LaunchersGone()) {
    EndWithoutLauncher(at, out);
  } else {
    ScheduleCheck(at + options_.ends.restart_grace);
  }
}

void AttemptEnds::RemoveExpired(std::optional<EventTime> at, EventSink* out) {
  const std::vector<Source*> expired = sources_->Expired();
  for (Source* source : expired) {
    source_ends_.CountLeft(source);
    sources_->Remove(source);
  }
  if (!expired.empty() && at.has_value()) DieWithoutRanks(*at, out);
}

void AttemptEnds::ScheduleCheck(EventTime at) {
  schedule_->AddOwn(at, 1, {.kind = TimelineEvent::Kind::kGraceOver});
}

void AttemptEnds::OnPlatformReport(const PlatformEnd& end, EventTime at) {
  AttemptFailures& failures = ranks_->failures();
  failures.OnPlatformReport(at, end);
  const std::optional<EventTime>& died_at = ranks_->died_at();
  if (!died_at.has_value()) return;
  ScheduleCheck(std::max(at, failures.seen_by()));
  if (failures.covers_job()) ScheduleCheck(std::max(at, *died_at + options_.ends.restart_grace));
}

void AttemptEnds::OnCheck(EventTime at, EventSink* out) {
  const std::optional<EventTime>& died_at = ranks_->died_at();
  if (!died_at.has_value()) return;  // A rank has started since then.
  const AttemptFailures& failures = ranks_->failures();
  const bool over = at >= *died_at + options_.ends.restart_grace ||
                    (ranks_->LaunchersGone() && !failures.covers_job() && at >= ranks_->OverBy());
  // This check was scheduled for another death, or the wait for the platform's report has since
  // been extended.
  if (!over && at < failures.seen_by()) return ScheduleCheck(failures.seen_by());
  ticks_->RunBelow(at.Next(), out);
  if (over) {
    lifecycle_->End(at, ranks_->DetailOfDeath(), /*by_event=*/false, out);
  } else {
    if (attempt_->open()) lifecycle_->EmitAttemptEnded(at, out);
    lifecycle_->EndIssues(at, ranks_->DetailOfDeath(), out);
  }
}

void AttemptEnds::EndWithoutLauncher(EventTime at, EventSink* out) {
  // An `ended` event will follow, or the platform will restart the job.
  if (ranks_->failures().covers_job())
    return ScheduleCheck(*ranks_->died_at() + options_.ends.restart_grace);
  if (at < ranks_->OverBy()) return ScheduleCheck(ranks_->OverBy());
  lifecycle_->End(at, ranks_->DetailOfDeath(), /*by_event=*/false, out);
}

bool AttemptEnds::PlatformReports() const {
  return owner_->declared() && job_->reference.platform == "slurm";
}

void AttemptEnds::CountDeath(const Source& source, const JobEvent& event, EventTime at) {
  AttemptFailures& failures = ranks_->failures();
  if (PlatformReports()) failures.ExpectPlatform();
  failures.Add({.at = at,
                .rank = source.info.rank,
                .node = source.info.node,
                .signal = event.rank_lost.signal,
                .exit_code = event.rank_lost.exit_code,
                .oom_killed = event.rank_lost.oom_killed,
                .reported_failure = ReportedFailure(event),
                .exception = event.rank_lost.exception});
}

void AttemptEnds::OnJobEnded(const JobEvent& event, EventTime at, EventSink* out) {
  const std::optional<PlatformEnd> end = PlatformEndOf(event);
  if (end) OnPlatformReport(*end, at);
  AttemptFailures& failures = ranks_->failures();
  // The rules must see the cause of death before the job ends.
  if (const EventTime seen_by = failures.seen_by(); at < seen_by) {
    schedule_->AddOwn(seen_by, 0, {.kind = TimelineEvent::Kind::kJobEnded, .event = event});
    return;
  }
  ticks_->RunBelow(at.Next(), out);
  failures.stop().NameBy(StoppedByOf(event));
  IssueEvent* ended = lifecycle_->End(at, ranks_->DetailOfEnd(event, at), /*by_event=*/true, out);
  if (end && ended->summary.empty()) ended->summary = TextOf(*end);
}

}  // namespace pitwall::engine
