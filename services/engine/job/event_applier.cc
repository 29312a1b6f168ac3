#include "services/engine/job/event_applier.h"

#include <algorithm>
#include <string>

#include "services/model/issues/job_end.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::engine {

EventApplier::EventApplier(const EngineOptions& options, EngineCounters* counters, JobIdentity* job,
                           JobClock* clock, JobInput* input, JobRules* rules, StepInput* steps,
                           TickRunner* ticks, JobAttempt* attempt, JobLifecycle* lifecycle,
                           AttemptEnds* ends)
    : options_(options),
      counters_(counters),
      job_(job),
      clock_(clock),
      input_(input),
      rules_(rules),
      steps_(steps),
      ticks_(ticks),
      attempt_(attempt),
      lifecycle_(lifecycle),
      ends_(ends),
      starts_(&input->sources(), attempt, lifecycle, &ends->sources()) {}

void EventApplier::ApplyUpTo(EventTime to, EventSink* out) {
  SourceTable& sources = input_->sources();
  const std::vector<Source*> due = sources.order().WithRowsUpTo(to);
  ApplyInOrder(FrameQueue::TakeRows(due, to), to, out);
  for (Source* source : due)
    sources.Change(source, [&](Source* s) { input_->frames().RemoveTaken(s); });
  if (lifecycle_->ended()) return;
  ticks_->RunBelow(to.Next(), out);
  if (clock_->FinishApplying(to))
    rules_->domains().ForEach([](ClockDomain& domain) { domain.Expire(); });
}

void EventApplier::ApplyInOrder(const std::vector<RowRef>& rows, EventTime to, EventSink* out) {
  EventSchedule& schedule = input_->schedule();
  size_t next_row = 0;
  while (!lifecycle_->ended()) {
    const TimelineEventKey* first = schedule.FirstUpTo(to);
    if (first == nullptr && next_row == rows.size()) break;
    // Events and rows never share a phase, so time and phase determine their order.
    const bool row_first =
        first == nullptr || (next_row < rows.size() &&
                             (rows[next_row].time != first->time ? rows[next_row].time < first->time
                                                                 : first->phase > Phase::kRow));
    if (row_first) {
      const RowRef& row = rows[next_row++];
      ticks_->RunBelow(row.time, out);
      clock_->NoteActivity(row.time);
      ApplyRow(row, out);
    } else {
      const auto [key, event] = schedule.TakeFirst();
      ticks_->RunBelow(key.time, out);
      clock_->NoteActivity(key.time);
      ApplyEvent(key, event, out);
    }
  }
}

void EventApplier::ApplyRow(const RowRef& row, EventSink* out) {
  Source* source = row.source;
  const PendingFrame& frame = *row.frame;
  const Step step = frame.steps.empty() ? Step::None() : frame.steps[row.row];
  if (step != Step::None() && !source->attempt.has_value() && row.time < source->ended_at)
    starts_.OnFirstStep(source, row.time, out);
  if (row.time >= source->ended_at) {
    counters_->Count(Drop::kZombie, frame.columns());
    return;
  }
  rules_->writer().WriteRow(row);
  if (step != Step::None()) steps_->Apply(row, step, out);
}

void EventApplier::ApplyEvent(const TimelineEventKey& key, const TimelineEvent& event,
                              EventSink* out) {
  Source* source = input_->sources().Find(key.source, key.boot);
  switch (event.kind) {
    case TimelineEvent::Kind::kBoot:
    case TimelineEvent::Kind::kModes:
    case TimelineEvent::Kind::kStepPromise:
    case TimelineEvent::Kind::kLeave:
    case TimelineEvent::Kind::kGoodbye:
      if (source != nullptr) ApplySourceEvent(event, key.time, source, out);
      break;
    case TimelineEvent::Kind::kRankLost:
      ends_->OnRankLost(event.event, key.time, out);
      break;
    case TimelineEvent::Kind::kLauncherGone:
      if (source != nullptr) ends_->OnLauncherGone(*source, key.time, out);
      break;
    case TimelineEvent::Kind::kGraceOver:
      ends_->OnCheck(key.time, out);
      break;
    case TimelineEvent::Kind::kJobStarted:
      OnJobStarted(event.event, key.time, out);
      break;
    case TimelineEvent::Kind::kJobEnded:
      ends_->OnJobEnded(event.event, key.time, out);
      break;
    case TimelineEvent::Kind::kJobNotice:
      OnNotice(event.event, key.time);
      break;
  }
}

void EventApplier::ApplySourceEvent(const TimelineEvent& event, EventTime at, Source* source,
                                    EventSink* out) {
  if (event.kind == TimelineEvent::Kind::kBoot) return starts_.OnBoot(source, at, out);
  // The source may have ended since the event was scheduled, and an engine event may be older than
  // the source's return.
  if (at >= source->ended_at) return;
  switch (event.kind) {
    case TimelineEvent::Kind::kModes:
      steps_->Announce(source, event.modes);
      break;
    case TimelineEvent::Kind::kStepPromise:
      steps_->Promise(source, event.mode, event.step, at, out);
      break;
    case TimelineEvent::Kind::kLeave:
      ends_->sources().Leave(source, /*goodbye=*/false, at, out);
      break;
    case TimelineEvent::Kind::kGoodbye:
      ends_->sources().Leave(source, /*goodbye=*/true, at, out);
      ends_->DieWithoutRanks(at, out);
      break;
    default:
      break;
  }
}

void EventApplier::OnJobStarted(const JobEvent& event, EventTime at, EventSink* out) {
  if (!event.name.empty()) job_->name = event.name;
  if (!(event.reference == JobReference{})) job_->reference = event.reference;
  MergeLabels(event.labels);
  rules_->UpdateIdentity(at, attempt_->ContextAt(clock_->watermark()), out);
  lifecycle_->EmitStarted(at, out);
}

void EventApplier::OnNotice(const JobEvent& event, EventTime at) {
  AttemptFailures& failures = attempt_->ranks().failures();
  if (event.reason == kStopping) failures.stop().Announce(at, StoppedByOf(event));
  if (event.reason == kStopRefused) failures.WithdrawStop();
  if (const auto end = PlatformEndOf(event)) {
    if (*end == PlatformEnd{}) {
      failures.ExpectPlatform();  // The notice only announces a report.
    } else {
      ends_->OnPlatformReport(*end, at);
    }
  }
  for (const std::string& name : event.series) {
    if (job_->withheld.size() < options_.max_withheld_per_job || job_->withheld.contains(name)) {
      job_->withheld[name] = event.reason;
    } else {
      counters_->Count(Drop::kLimit);
    }
  }
  if (event.series.empty()) {
    std::erase_if(job_->withheld, [&](const auto& entry) { return entry.second == event.reason; });
  }
}

void EventApplier::MergeLabels(const std::vector<Label>& labels) {
  for (const Label& label : labels) {
    const auto known = std::find_if(job_->labels.begin(), job_->labels.end(),
                                    [&](const Label& other) { return other.name == label.name; });
    if (known != job_->labels.end()) {
      known->value = label.value;
    } else if (job_->labels.size() < options_.max_labels_per_job) {
      job_->labels.push_back(label);
    }
  }
  std::sort(job_->labels.begin(), job_->labels.end());
}

}  // namespace pitwall::engine
