// Ends of ranks, attempts and jobs (time-model.md, section 4), in order of event time, and what is
// told of them.
#include <algorithm>

#include "services/base/text/strings.h"
#include "services/engine/job/job.h"
#include "services/engine/sources/silent_nodes.h"
#include "services/model/issues/job_end.h"
#include "services/model/value.h"

namespace pitwall::engine {

namespace {

EndDetail DetailOf(std::string_view reason) {
  return ParseEndDetail(reason).value_or(EndDetail::kNone);
}

}  // namespace

void Job::Tell(JobChange change, EndDetail detail, int64_t at, uint64_t attempt, EventSink* out) {
  if (!told_started_) {
    told_started_ = true;
    if (change != JobChange::kStarted) Tell(JobChange::kStarted, EndDetail::kNone, at, 0, out);
  }
  IssueEvent event;
  event.type = EventType::kJobChanged;
  event.job = identity_.id;
  event.job_name = identity_.name;
  event.reference = identity_.reference;
  event.owner = identity_.owner;
  event.attempt = attempt;
  event.time_ns = event.active_since_ns = at;
  event.job_change = change;
  event.end_detail = detail;
  if (detail == EndDetail::kStopped && !deaths_.stopped_by().empty())
    event.summary = Cat("stopped by ", deaths_.stopped_by());
  event.sequence = ++changes_told_;
  event.id = MakeEventId(event);
  ++counters_->events;
  out->events.push_back(std::move(event));
}

void Job::EmitStarted(int64_t at, EventSink* out) {
  if (!told_started_) Tell(JobChange::kStarted, EndDetail::kNone, at, attempt_, out);
}

// False: no rank of this job, or one of another node than the batch's source, which cannot know.
bool Job::HearRankLost(const Source& teller, const RankLost& lost) {
  const auto found = sources_.find({lost.source, lost.boot_id});
  if (found == sources_.end() || !found->second->IsRank()) return false;
  Source* source = found->second.get();
  if (source != &teller && source->info.node != teller.info.node) return false;
  source->loss_reported = true;
  source->live = false;
  order_.Update(source);
  return true;
}

void Job::RankJoined(Source* source, int64_t at, EventSink* out) {
  if (!source->IsRank() || source->here || source->ended_at != kMaxPosition) return;
  source->here = true;
  ++ranks_here_;
  died_at_ = kMinPosition;
  launchers_gone_[source->info.node] = false;
  deaths_.SetGone(false);
  JoinAttempt(*source, at, out);
}

// A process that numbers its attempt as the one that has died goes on with it.
void Job::JoinAttempt(const Source& source, int64_t at, EventSink* out) {
  if (!started_ || attempt_open_ || source.attempt != attempt_) return;
  attempt_open_ = true;
  Tell(JobChange::kAttemptBegan, EndDetail::kNone, at, attempt_, out);
}

void Job::RankLeft(Source* source) {
  if (!source->here) return;
  source->here = false;
  --ranks_here_;
  for (const auto& [mode, progress] : source->steps) {
    if (progress.clock != kSharedClock) NameMissingRanks(mode);  // it is no longer expected
  }
}

void Job::ApplyRankLost(const TimelineEventKey& key, const JobEvent& event, EventSink* out) {
  const RankLost& lost = event.rank_lost;
  const auto found = sources_.find({lost.source, lost.boot_id});
  if (found == sources_.end() || found->second->lost) return;
  Source* source = found->second.get();
  if (key.position < source->ended_at) CountDeath(key.position, *source, event);
  if (ReportedFailure(event)) return;
  source->lost = true;
  if (source->here) ++ranks_lost_;
  RunTicksBelow(key.position + 1, out);
  if (source->ended_at == kMaxPosition) {
    EndSource(source, key.position + 1);
    AdvanceStepsWithout(*source, /*ended=*/true, key.position, out);
  }
  Tell(JobChange::kRankLost, EndDetail::kDied, key.position, source->attempt.value_or(attempt_),
       out);
  out->events.back().lost_rank = LostRank{.rank = source->info.rank,
                                          .node = source->info.node,
                                          .signal = lost.signal,
                                          .exit_code = lost.exit_code,
                                          .oom_killed = lost.oom_killed};
  DieWithoutRanks(key.position, out);
}

void Job::ApplyLauncherGone(const TimelineEventKey& key, const Source* teller, EventSink* out) {
  if (teller == nullptr) return;
  const auto node = launchers_gone_.find(teller->info.node);
  if (node == launchers_gone_.end()) return;
  node->second = true;
  if (died_at_ == kMinPosition || !LaunchersGone()) return;
  RunTicksBelow(key.position + 1, out);
  deaths_.SetGone(true);
  EndWithoutLauncher(key.position, out);
}

bool Job::LaunchersGone() const {
  return !launchers_gone_.empty() && std::all_of(launchers_gone_.begin(), launchers_gone_.end(),
                                                 [](const auto& node) { return node.second; });
}

void Job::DieWithoutRanks(int64_t at, EventSink* out) {
  if (ended_ || ranks_here_ > 0 || ranks_lost_ == 0 || died_at_ != kMinPosition) return;
  died_at_ = at;
  deaths_.SetGone(LaunchersGone());
  if (attempt_open_) {
    const bool seen = at >= deaths_.seen_by();
    // How it ended may be the platform's to say.
    if (seen || !deaths_.waits_for_platform()) TellAttemptEnded(at, out);
    // What it died of is open until rules have seen the death: one incident, not two.
    if (seen) {
      EndIssuesOfAttempt(at, DetailOfDeath(), out);
    } else {
      LookAtEndsAt(deaths_.seen_by());
    }
  }
  if (LaunchersGone()) {
    EndWithoutLauncher(at, out);
  } else {
    LookAtEndsAt(at + options_.restart_grace_ns);
  }
}

// After an `ended` event of the same time, which says more.
void Job::LookAtEndsAt(int64_t at) {
  timeline_.Add({at, Phase::kEnd, std::string(kOwnSource), "", 0, 1},
                {.kind = TimelineEvent::Kind::kGraceOver});
}

// What is heard of an attempt that has died shortens its wait.
void Job::OnPlatformReport(int64_t at, const PlatformEnd& end) {
  deaths_.OnPlatformReport(at, end);
  if (died_at_ == kMinPosition) return;
  LookAtEndsAt(std::max(at, deaths_.seen_by()));
  if (deaths_.heard_of_job()) LookAtEndsAt(std::max(at, died_at_ + options_.restart_grace_ns));
}

std::optional<int64_t> Job::OverInNs() const {
  if (ended_ || died_at_ == kMinPosition) return std::nullopt;
  return std::max<int64_t>(died_at_ + options_.restart_grace_ns - watermark_, 0);
}

void Job::ApplyGraceOver(const TimelineEventKey& key, EventSink* out) {
  const bool over = key.position >= died_at_ + options_.restart_grace_ns ||
                    (LaunchersGone() && !deaths_.heard_of_job() && key.position >= OverBy());
  if (died_at_ == kMinPosition) return;  // a rank has started since
  // Of another death, or it waits longer for its platform since.
  if (!over && key.position < deaths_.seen_by()) return LookAtEndsAt(deaths_.seen_by());
  RunTicksBelow(key.position + 1, out);
  if (over) {
    EndJob(key.position, DetailOfDeath(), /*by_event=*/false, out);
  } else {
    if (attempt_open_) TellAttemptEnded(key.position, out);
    EndIssuesOfAttempt(key.position, DetailOfDeath(), out);
  }
}

void Job::TellAttemptEnded(int64_t at, EventSink* out) {
  attempt_open_ = false;
  Tell(JobChange::kAttemptEnded, DetailOfDeath(), at, attempt_, out);
}

// How the attempt ended that lost its ranks: what RankDied and JobCancelled say, too.
EndDetail Job::DetailOfDeath() const {
  if (deaths_.IsStop(died_at_)) return EndDetail::kStopped;
  return deaths_.cancelled() ? EndDetail::kCancelled : EndDetail::kDied;
}

void Job::EndWithoutLauncher(int64_t at, EventSink* out) {
  // It has an `ended` event, or will be started again.
  if (deaths_.heard_of_job()) return LookAtEndsAt(died_at_ + options_.restart_grace_ns);
  if (at >= OverBy()) return EndJob(at, DetailOfDeath(), /*by_event=*/false, out);
  LookAtEndsAt(OverBy());
}

// When a job without launcher is over. Its platform may speak when its last rank has ended, long
// after the first death.
int64_t Job::OverBy() const {
  const int64_t platform =
      deaths_.waits_for_platform() ? died_at_ + AttemptFailures::kPlatformEndsNs : kMinPosition;
  return std::max(deaths_.told_by(), platform);
}

// Whether an epilog will say how the job ended, as root's prolog has declared it. Who watches pods
// announces that for each rank.
bool Job::PlatformTells() const {
  return owner_.declared() && identity_.reference.platform == "slurm";
}

void Job::CountDeath(int64_t at, const Source& source, const JobEvent& event) {
  if (PlatformTells()) deaths_.ExpectPlatform();
  deaths_.Add({.at = at,
               .rank = source.info.rank,
               .node = source.info.node,
               .signal = event.rank_lost.signal,
               .exit_code = event.rank_lost.exit_code,
               .oom_killed = event.rank_lost.oom_killed,
               .said_failed = ReportedFailure(event),
               .exception = event.rank_lost.exception});
}

void Job::WriteFailureSeries(int64_t tick) {
  for (auto& [labels, value] : deaths_.Judge(tick)) {
    WriteOwnSeries(time_.get(), tick, labels, value);
    own_series_[std::move(labels)] = value;
  }
}

// The next attempt has its own: what was told of this one ends where that is written.
void Job::ForgetDeaths() {
  deaths_.Clear();
  for (auto& [labels, value] : own_series_) {
    if (labels.Get(kMetricName) == AttemptFailures::kLost) value = 0;
  }
}

void Job::TellSilentNodes() {
  std::map<std::string, uint64_t, std::less<>> silent = SilentNodes(sources_, options_);
  std::vector<std::pair<Labels, double>> changes;
  for (const auto& [labels, value] : own_series_) {
    if (labels.Get(kMetricName) != kNodeSilentRanks) continue;
    const auto found = silent.find(labels.Get("node"));
    if (found == silent.end()) {
      changes.emplace_back(labels, StaleMarker());
    } else if (static_cast<double>(found->second) == value) {
      silent.erase(found);
    }
  }
  for (const auto& [node, ranks] : silent) {
    changes.emplace_back(Labels({{kMetricName, kNodeSilentRanks}, {"node", node}}),
                         static_cast<double>(ranks));
  }
  if (changes.empty()) return;
  // Since they were last heard: ticks from there on see it, also those that their promise held up.
  own_series_at_ = std::max(watermark_, own_series_at_) + 1;
  for (const auto& [labels, value] : changes) {
    WriteOwnSeries(time_.get(), own_series_at_, labels, value);
    if (IsStale(value)) {
      own_series_.erase(labels);
    } else {
      own_series_[labels] = value;
    }
  }
}

void Job::EndIssuesOfAttempt(int64_t at, EndDetail detail, EventSink* out) {
  const size_t first_event = out->events.size();
  const TickContext context = ContextAt(at);
  if (time_ != nullptr)
    time_->EndAll(EndReason::kAttemptEnded, true, context, identity_, out, detail);
  for (const auto& domain : steps_) {
    domain->EndAll(EndReason::kAttemptEnded, false, StepContext(*domain, context), identity_, out,
                   detail);
  }
  JoinIncidents(first_event, out);
}

TickContext Job::StepContext(const ClockDomain& domain, TickContext at) {
  at.position = domain.watermark == kMinPosition ? 0 : domain.watermark;
  at.step = domain.watermark == kMinPosition ? kNoStep : domain.watermark / kStepUnit;
  return at;
}

void Job::ApplyJobEnded(const TimelineEventKey& key, const JobEvent& event, EventSink* out) {
  const std::optional<PlatformEnd> end = PlatformEndOf(event);
  if (end) OnPlatformReport(key.position, *end);
  // Rules see first what its ranks died of.
  if (const int64_t seen_by = deaths_.seen_by(); key.position < seen_by) {
    timeline_.Add({seen_by, Phase::kEnd, std::string(kOwnSource), "", 0, 0},
                  {.kind = TimelineEvent::Kind::kJobEnded, .event = event});
    return;
  }
  RunTicksBelow(key.position + 1, out);
  deaths_.NameStop(StoppedByOf(event));
  EndJob(key.position, DetailOfEnd(event, key.position), /*by_event=*/true, out);
  if (std::string& summary = out->events.back().summary; end && summary.empty())
    summary = TextOf(*end);
}

// What the platform calls failed is how its ranks were lost, where they were, and a cancellation
// that the executor asked for is its stop.
EndDetail Job::DetailOfEnd(const JobEvent& event, int64_t at) const {
  const EndDetail detail = DetailOf(event.reason);
  if (!PlatformEndOf(event)) return detail;
  if (detail == EndDetail::kFailed && ranks_lost_ > 0) return DetailOfDeath();
  if (detail == EndDetail::kCancelled && deaths_.IsStop(at)) return EndDetail::kStopped;
  return detail;
}

void Job::EndJob(int64_t at, EndDetail detail, bool by_event, EventSink* out) {
  EmitStarted(at, out);
  if (attempt_open_) Tell(JobChange::kAttemptEnded, detail, at, attempt_, out);
  attempt_open_ = false;
  FinishSteps(at, out);
  const size_t first_event = out->events.size();
  const TickContext context = ContextAt(at);
  const auto end = [&](ClockDomain* domain, const TickContext& c) {
    domain->EndAll(EndReason::kJobEnded, false, c, identity_, out, detail);
    domain->FinishStatuses(c, identity_, out);
  };
  if (time_ != nullptr) end(time_.get(), context);
  for (const auto& domain : steps_) end(domain.get(), StepContext(*domain, context));
  JoinIncidents(first_event, out);
  Tell(JobChange::kEnded, detail, at, attempt_, out);
  ended_ = true;
  ended_by_event_ = by_event;
  ended_at_ = at;
  tombstone_age_ns_ = 0;
}

// Of a job that is over without an ended event.
bool Job::ResumesWith(const Batch& batch) const {
  if (ended_by_event_) return false;
  if (died_at_ != kMinPosition) {
    // Its nodes, and what was read late of its dead, are no restart.
    return batch.info.kind == SourceKind::kRank && batch.info.start_ns > died_at_;
  }
  // A rank that is found dead is no sign of life.
  if (std::any_of(batch.events.begin(), batch.events.end(), [](const JobEvent& event) {
        return event.kind == JobEvent::Kind::kRankLost ||
               event.kind == JobEvent::Kind::kLauncherGone;
      }))
    return false;
  if (batch.promise_ns > ended_at_) return true;
  return std::any_of(batch.frames.begin(), batch.frames.end(), [&](const Frame& frame) {
    return std::any_of(frame.times_ns.begin(), frame.times_ns.end(),
                       [&](int64_t time) { return time > ended_at_; });
  });
}

// A job that was over by grace or silence ends by event after all: when an action that stopped it
// was done, or its platform says how it ended.
void Job::AmendEnd(const RecordPosition& at, const Batch& batch, EventSink* out) {
  for (const JobEvent& event : batch.events) {
    if (event.kind != JobEvent::Kind::kEnded || ended_by_event_) continue;
    ended_by_event_ = true;
    tombstone_age_ns_ = 0;
    ended_at_ = std::max(ended_at_, std::min(event.time_ns, at.append_time_ns));
    Tell(JobChange::kEnded, DetailOfEnd(event, ended_at_), ended_at_, attempt_, out);
    if (const auto end = PlatformEndOf(event)) out->events.back().summary = TextOf(*end);
  }
}

void Job::GoOn() {
  ended_ = false;
  tombstone_age_ns_ = 0;
  next_attempt_ = attempt_ + (started_ ? 1 : 0);
  if (next_attempt_ == 0) next_attempt_ = 1;
  told_started_ = started_;  // a job without attempts starts again
  started_ = false;
  attempt_by_rank_0_ = false;
  attempt_boot_ns_ = 0;
  died_at_ = kMinPosition;
  ranks_here_ = ranks_lost_ = 0;
  launchers_gone_.clear();
  floor_ = ended_at_;
  watermark_ = origin_ = applied_ = last_activity_ = last_frame_watermark_ = kMinPosition;
  next_step_judgement_ = next_expiry_ = own_series_at_ = kMinPosition;
  blind_ns_ = 0;
  identity_.withheld.clear();
  identity_.limit_reason.clear();
  ++bindings_generation_;
  BuildRunners();
}

void Job::SaveEnds(BinaryWriter& out) const {
  out.Bool(ended_by_event_);
  out.I64(ended_at_);
  out.I64(died_at_);
  out.I64(floor_);
  out.U64(changes_told_);
  out.Bool(told_started_);
  out.U64(attempt_);
  out.Bool(started_);
  out.U64(next_attempt_);
  out.Bool(attempt_open_);
  out.U64(ranks_lost_);
  out.U64(launchers_gone_.size());
  for (const auto& [node, gone] : launchers_gone_) {
    out.Str(node);
    out.Bool(gone);
  }
  out.Str(identity_.name);
  const JobReference& r = identity_.reference;
  for (const std::string* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue}) {
    out.Str(*field);
  }
  out.U64(identity_.labels.size());
  for (const Label& label : identity_.labels) {
    out.Str(label.name);
    out.Str(label.value);
  }
}

void Job::RestoreEnds(BinaryReader& in) {
  ended_by_event_ = in.Bool();
  ended_at_ = in.I64();
  died_at_ = in.I64();
  floor_ = in.I64();
  changes_told_ = in.U64();
  told_started_ = in.Bool();
  attempt_ = in.U64();
  started_ = in.Bool();
  next_attempt_ = in.U64();
  attempt_open_ = in.Bool();
  ranks_lost_ = in.U64();
  for (size_t n = in.Count(2); n > 0; --n) {
    std::string node = in.Str();
    launchers_gone_[std::move(node)] = in.Bool();
  }
  identity_.name = in.Str();
  JobReference& r = identity_.reference;
  for (std::string* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue}) {
    *field = in.Str();
  }
  identity_.labels.resize(in.Count(2));
  for (Label& label : identity_.labels) {
    label.name = in.Str();
    label.value = in.Str();
  }
}

}  // namespace pitwall::engine
