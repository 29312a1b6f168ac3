#include "services/executor/partition_worker.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/telemetry_codec.h"
#include "services/executor/policy.h"
#include "services/model/issues/job_end.h"

namespace pitwall::executor {
namespace {

constexpr size_t kPollRecords = 500;
constexpr size_t kPollBytes = size_t{2} << 20;
constexpr int64_t kPollNs = kNanosPerSecond;
constexpr int64_t kRetryNs = kNanosPerSecond;
constexpr int64_t kCommitIntervalNs = 5 * kNanosPerSecond;
// Maximum number of candidates per decision, which only a flood of issues can reach. At this limit,
// the worker decides before it reaches the end of the log.
constexpr size_t kMaxCandidates = 10'000;

std::string RandomName() {
  std::random_device random;
  return Cat(random(), "-", random());
}

}  // namespace

PartitionWorker::PartitionWorker(Clock* clock, Log* log, const StopTargets* targets,
                                 const ExecutorOptions* options, DecisionIndex* index,
                                 ActionsTopic* decisions, ExecutorCounters* counters,
                                 int32_t partition)
    : clock_(clock),
      log_(log),
      targets_(targets),
      options_(*options),
      index_(index),
      decisions_(decisions),
      counters_(counters),
      at_{options->issues_topic, partition},
      group_(Cat(options->group, "-", options->node)),
      name_(RandomName()),
      requests_(clock, log, options->actions_topic, options->issues_topic, partition),
      wakeup_(clock->NewWakeup()) {}

PartitionWorker::~PartitionWorker() { Stop(); }

Status PartitionWorker::Fence() {
  ASSIGN_OR_RETURN(committer_, log_->OpenCommitter(Cat(group_, "-", at_.partition)));
  return OkStatus();
}

Status PartitionWorker::Open(std::vector<ActionEvent> unfinished) {
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at_));
  // On the first start, the worker reads from the end of the log. Issues that are already open are
  // repeated within five minutes.
  int64_t from = kFromEnd;
  if (committed) {
    ASSIGN_OR_RETURN(from, Resume(*committed));
  }
  ASSIGN_OR_RETURN(reader_, log_->OpenReader(at_, from));
  begin_ = reader_->position();
  for (const ActionEvent& decision : unfinished) {
    StopTarget* const target = targets_->Choose(decision.target).target;
    if (target == nullptr) continue;
    const StatusOr<StopEffect> effect = target->Effect(decision);
    constexpr std::string_view kWhen = "the executor restarted after the decision";
    if (!effect.ok()) {
      Finish(decision,
             Cat("unknown: ", kWhen, "; the stop may have been executed and is not repeated: ",
                 ToStd(effect.status().message())));
    } else if (effect->stopped) {
      Finish(decision, Cat("no longer running: ", kWhen), /*stopped=*/true);
    } else {
      Finish(decision, Cat("still running: ", kWhen,
                           "; the stop may have been executed and is not repeated"));
    }
  }
  return OkStatus();
}

void PartitionWorker::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void PartitionWorker::Stop() {
  if (!thread_.joinable()) return;
  stop_ = true;
  reader_->Interrupt();
  wakeup_->Wake();
  thread_.join();
}

Status PartitionWorker::health() const {
  MutexLock lock(&mutex_);
  return health_.ok() ? notice_.Read(clock_->MonotonicNs()) : health_;
}

void PartitionWorker::SetHealth(const Status& status) {
  MutexLock lock(&mutex_);
  health_ = status;
}

void PartitionWorker::Loop() {
  while (!stop_) {
    Status status = committer_ != nullptr ? OkStatus() : Reopen();
    if (status.ok()) status = Step();
    SetHealth(Annotate(status, Cat(at_.topic, "/", at_.partition)));
    if (status.ok()) continue;
    PITWALL_LOG(kError, "executor", at_.topic, "/", at_.partition, ": ", ToStd(status.message()));
    // Either another executor took over this partition, or the result of a commit is unknown.
    if (status.code() == absl::StatusCode::kAborted) committer_.reset();
    if (!stop_) wakeup_->Wait(kRetryNs);
  }
  for (const Watched& w : watched_) {
    Finish(w.decision, Cat(w.done, "; the executor stopped before it observed an effect"));
  }
  watched_.clear();
  for (const auto& [issue, t] : committed_stops_) {
    Finish(t.decision, "not executed: the executor stopped first");
  }
  committed_stops_.clear();
  if (const Status status = CommitOutcomes(); !status.ok()) {
    PITWALL_LOG(kError, "executor", "failed to record the outcome: ", ToStd(status.message()));
  }
}

Status PartitionWorker::Reopen() {
  RETURN_IF_ERROR(Fence());
  Status read = ReadBack();
  if (!read.ok()) committer_.reset();
  return read;
}

Status PartitionWorker::ReadBack() {
  RETURN_IF_ERROR(decisions_->ReadAll());
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at_));
  int64_t from = begin_;
  if (committed) {
    ASSIGN_OR_RETURN(from, Resume(*committed));
  }
  RETURN_IF_ERROR(reader_->Seek(from));
  candidates_.clear();
  committed_ = -1;
  std::erase_if(outcomes_, [&](const ActionEvent& done) { return index_->Done(done.issue); });
  const bool ours = committed && committed->metadata == last_commit_;
  for (DecidedStop& t : std::exchange(unconfirmed_, {})) {
    const std::string issue = t.decision.issue;
    if (!index_->Decided(issue, ActionMode::kLive)) {
      index_->Release(issue);  // the decision was not committed
    } else if (ours) {
      committed_stops_.insert_or_assign(issue, std::move(t));
    }  // otherwise, another executor decided the issue and acts on it
  }
  return OkStatus();
}

Status PartitionWorker::Step() {
  RETURN_IF_ERROR(CommitOutcomes());
  std::vector<Record> records;
  const int64_t before = reader_->position();
  const Status polled =
      reader_->Poll(kPollRecords, kPollBytes,
                    watched_.empty() ? kPollNs : targets_->look_interval_ns(), &records);
  for (const Record& record : records) Note(record);
  std::vector<IssueEvent> asked;
  if (const Status read = requests_.Read(&asked); !read.ok())
    PITWALL_LOG(kWarning, "executor", ToStd(read.message()));
  for (IssueEvent& request : asked) Consider(std::move(request));
  if (records.empty() && !stop_) RETURN_IF_ERROR(FollowReplaced(before));
  if (polled.code() == absl::StatusCode::kDataLoss) {
    PITWALL_LOG(kWarning, "executor", ToStd(polled.message()));
  } else {
    RETURN_IF_ERROR(polled);
  }
  LookAfter();
  if (candidates_.empty() && committed_stops_.empty()) {
    // The position may be stored late, because no other state depends on the position.
    const int64_t now = clock_->MonotonicNs();
    if (reader_->position() != committed_ && now - committed_at_ns_ >= kCommitIntervalNs) {
      RETURN_IF_ERROR(Apply({}, reader_->position()));
    }
    return OkStatus();
  }
  // The worker decides only on issues that are still open at the current end of the log.
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  if (reader_->position() < end && candidates_.size() < kMaxCandidates) return OkStatus();
  return DecideAll();
}

void PartitionWorker::Note(const Record& record) {
  mark_ = {record.offset, record.append_time_ns};
  StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record.value);
  if (!event.ok()) {
    counters_->undecodable.Add();
    PITWALL_LOG(kWarning, "executor", at_.topic, "/", at_.partition, " offset ", record.offset,
                ": ", ToStd(event.status().message()));
    return;
  }
  counters_->events.Add();
  if (event->type == EventType::kRuleStatus || event->type == EventType::kJobChanged) return;
  const std::string issue = IssueId(*event);
  if (event->type == EventType::kIssueResolved) {
    candidates_.erase(issue);
    if (const auto stop = committed_stops_.find(issue); stop != committed_stops_.end()) {
      Finish(stop->second.decision,
             "not executed: the issue ended before the commit was confirmed");
      committed_stops_.erase(stop);
    }
    return;
  }
  Consider(*std::move(event));
}

void PartitionWorker::Consider(IssueEvent event) {
  const std::string issue = IssueId(event);
  const Verdict verdict = Judge(options_.policies, event);
  // Every stop request from a user gets a reply.
  if (verdict.mode == PolicyMode::kOff && event.rule != kStopRequestRule) return;
  if (targets_->Choose(event.reference).elsewhere) {
    candidates_.erase(issue);
    counters_->elsewhere.Add();
    return;
  }
  const ActionMode mode =
      verdict.mode == PolicyMode::kLive ? ActionMode::kLive : ActionMode::kDryRun;
  if (index_->Decided(issue, mode)) return;
  candidates_.insert_or_assign(issue, std::move(event));
}

ActionEvent PartitionWorker::MakeAction(const IssueEvent& event, ActionEventType type,
                                        ActionMode mode, std::string why) const {
  ActionEvent action;
  action.type = type;
  action.issue = IssueId(event);
  action.issue_event = event.id;
  action.job = event.job;
  action.job_name = event.job_name;
  action.owner = event.owner;
  action.attempt = event.attempt;
  action.rule = event.rule;
  action.alert = event.alert;
  action.severity = event.severity;
  action.mode = mode;
  action.target = event.reference;
  action.why = std::move(why);
  if (event.rule == kStopRequestRule) action.principal = std::string(event.labels.Get("principal"));
  action.evidence = event.evidence;
  action.time_ns = event.time_ns;
  action.id = MakeActionId(action);
  return action;
}

std::optional<ActionEvent> PartitionWorker::Decide(const IssueEvent& event, StopTarget** target,
                                                   int64_t* grace_ns) {
  const std::string issue = IssueId(event);
  const Verdict verdict = Judge(options_.policies, event);
  const bool live = verdict.mode == PolicyMode::kLive;
  const ActionMode mode = live ? ActionMode::kLive : ActionMode::kDryRun;
  if (index_->Decided(issue, mode)) return std::nullopt;
  ActionEvent decision = MakeAction(event, ActionEventType::kDecided, mode, "");
  *target = targets_->Choose(event.reference).target;
  *grace_ns = verdict.grace_ns;
  StopCheck check;
  check.refusal = Exemption(options_.exempt, event);
  if (check.refusal.empty()) {
    check = *target != nullptr ? (*target)->Check(decision)
                               : StopCheck{.refusal = targets_->Refusal(event.reference)};
  }
  if (check.other_owner) counters_->refused_owner.Add();
  if (std::max(event.started_at_ns, event.active_since_ns) <= decisions_->floor_ns()) {
    check.refusal =
        "the issue began before the decisions were lost (--accept-log-reset), so it may already "
        "have been acted on";
  }
  if (verdict.mode == PolicyMode::kOff) check.refusal = "the policy is off";
  if (check.refusal.empty() && live)
    check.refusal = index_->Reserve(issue, event.job, event.time_ns);
  if (!check.refusal.empty()) {
    if (index_->Refused(issue, mode)) return std::nullopt;  // refuse each issue only once
    return MakeAction(event, ActionEventType::kRefused, mode,
                      Cat(verdict.why, "; refused: ", check.refusal));
  }
  const bool asked_for = event.rule == kStopRequestRule;
  decision.why = Cat(verdict.why, asked_for ? "; " : "; the issue is open and ", check.found);
  return decision;
}

Status PartitionWorker::DecideAll() {
  for (const auto& [issue, t] : std::exchange(committed_stops_, {})) Act(t);
  std::set<std::string> jobs;
  for (const auto& [issue, event] : candidates_) jobs.insert(event.job);
  RETURN_IF_ERROR(decisions_->ReadOf(jobs));  // also reads decisions by executors of other nodes
  std::vector<ActionEvent> actions;
  std::vector<DecidedStop> decided;
  // Decide in order of event time. With a budget, the order must not depend on a hash.
  std::vector<const IssueEvent*> order;
  for (const auto& [issue, event] : candidates_) order.push_back(&event);
  std::sort(order.begin(), order.end(), [](const IssueEvent* a, const IssueEvent* b) {
    return std::pair(a->time_ns, std::string_view(a->id)) <
           std::pair(b->time_ns, std::string_view(b->id));
  });
  for (const IssueEvent* event : order) {
    StopTarget* target = nullptr;
    int64_t grace_ns = 0;
    std::optional<ActionEvent> decision = Decide(*event, &target, &grace_ns);
    if (!decision) continue;
    const bool live =
        decision->type == ActionEventType::kDecided && decision->mode == ActionMode::kLive;
    if (live) decided.push_back({*decision, target, grace_ns});
    actions.push_back(*std::move(decision));
  }
  // Commit the decisions first, because every action requires a recorded decision.
  Status committed = Apply(actions, reader_->position());
  if (committed.code() == absl::StatusCode::kAborted) {
    unconfirmed_ = std::move(decided);  // the reservations are kept until the result is known
    return committed;
  }
  if (!committed.ok()) {
    for (const DecidedStop& t : decided) index_->Release(t.decision.issue);
    return committed;
  }
  candidates_.clear();
  for (const DecidedStop& t : decided) Act(t);
  return CommitOutcomes();
}

void PartitionWorker::Act(const DecidedStop& decided) {
  StatusOr<std::string> done = decided.target->Stop(decided.decision);
  if (done.ok()) {
    const int64_t now = clock_->MonotonicNs();
    watched_.push_back({decided.decision, decided.target, *std::move(done), now + decided.grace_ns,
                        decided.grace_ns, now});
  } else if (done.status().code() == absl::StatusCode::kNotFound) {
    Finish(decided.decision,
           Cat("not found, so nothing was stopped: ", ToStd(done.status().message())));
  } else if (done.status().code() == absl::StatusCode::kPermissionDenied) {
    ActionEvent refused = OutcomeOf(decided.decision, ActionEventType::kRefused);
    CatTo(refused.why, "; refused: ", ToStd(done.status().message()));
    outcomes_.push_back(std::move(refused));
  } else {
    Finish(decided.decision, Cat("failed: ", ToStd(done.status().message())));
  }
}

void PartitionWorker::LookAfter() {
  std::erase_if(watched_, [&](Watched& w) {
    const int64_t now = clock_->MonotonicNs();
    if (now < w.look_at_ns && now < w.until_ns) return false;
    w.look_at_ns = now + w.target->look_interval_ns();
    const StatusOr<StopEffect> effect = w.target->Effect(w.decision);
    if (effect.ok() && effect->stopped) {
      Finish(w.decision, Cat(w.done, "; ", effect->text), /*stopped=*/true);
      return true;
    }
    if (now < w.until_ns) return false;
    const std::string seen =
        effect.ok() ? effect->text
                    : Cat("the effect is unknown (", ToStd(effect.status().message()), ")");
    Finish(w.decision, Cat(w.done, "; ", seen, " after ", w.grace_ns / kNanosPerMilli, " ms"));
    return true;
  });
}

void PartitionWorker::Finish(const ActionEvent& decision, std::string effect, bool stopped) {
  ActionEvent done = OutcomeOf(decision, ActionEventType::kDone);
  done.effect = std::move(effect);
  if (stopped) stopped_.insert(done.id);
  outcomes_.push_back(std::move(done));
}

// Returns the record about an action for the job's telemetry. The record is committed in one
// transaction with the action, so it is sent exactly once. A decision announces the end of the job,
// so that subsequent process exits do not count as failures. A refusal withdraws the announcement.
// The outcome of the action ends the job (time-model.md, section 4). The source makes no promises,
// so no watermark waits for it. Its boot ID is the action's ID.
OutgoingRecord PartitionWorker::StopNotice(const ActionEvent& action) {
  Batch batch;
  batch.job = action.job;
  batch.owner = action.owner;
  batch.source = Cat("executor@", options_.node);
  batch.boot_id = action.id;
  batch.sequence = 1;
  batch.info.kind = SourceKind::kForeign;
  batch.info.node = options_.node;
  const bool done = action.type == ActionEventType::kDone;
  JobEvent word;
  word.kind = done ? JobEvent::Kind::kEnded : JobEvent::Kind::kNotice;
  word.time_ns = clock_->WallNs();
  const bool refused = action.type == ActionEventType::kRefused;
  word.reason = done ? EndDetailName(EndDetail::kStopped) : refused ? kStopRefused : kStopping;
  const std::string by = action.principal.empty() ? Cat("rule ", action.rule) : action.principal;
  word.labels.push_back({std::string(kStoppedBy), by});
  batch.events.push_back(std::move(word));
  OutgoingRecord record;
  record.topic = options_.telemetry_topic;
  record.key = action.job;
  codec::BatchEncoder().Encode(batch, &record.value);
  return record;
}

Status PartitionWorker::CommitOutcomes() {
  if (outcomes_.empty()) return OkStatus();
  RETURN_IF_ERROR(Apply(outcomes_, -1));
  outcomes_.clear();
  return OkStatus();
}

Status PartitionWorker::Apply(const std::vector<ActionEvent>& actions, int64_t next_offset) {
  Commit commit;
  commit.group = group_;
  commit.input = at_;
  commit.next_offset = next_offset;
  for (const ActionEvent& action : actions) {
    OutgoingRecord record;
    record.topic = options_.actions_topic;
    record.key = action.job;
    record.value = cloudevents::EncodeCloudEvent(action);
    commit.outputs.push_back(std::move(record));
    const bool stops = action.type == ActionEventType::kDecided && action.mode == ActionMode::kLive;
    const bool withdraws = action.type == ActionEventType::kRefused && IsOutcome(action);
    if (!stops && !withdraws && !stopped_.contains(action.id)) continue;
    if (log_->Partitions(options_.telemetry_topic).ok()) {
      commit.outputs.push_back(StopNotice(action));
    } else {
      PITWALL_LOG(kWarning, "executor", "job ", action.job, " is not notified of its stop: topic ",
                  options_.telemetry_topic, " not found");
    }
  }
  if (committer_ == nullptr) return Unavailable("another executor owns the partition");
  if (next_offset >= 0) {
    last_commit_ = Cat(name_, "/", ++commits_, ";", EncodeLogMark(mark_));
    commit.metadata = last_commit_;
  }
  Status applied = committer_->Apply(commit);
  if (!applied.ok()) {
    counters_->failed_commits.Add();
    return applied;
  }
  committed_at_ns_ = clock_->MonotonicNs();
  if (next_offset >= 0) committed_ = next_offset;
  for (const ActionEvent& action : actions) {
    index_->Record(action);
    stopped_.erase(action.id);
    const bool live = action.mode == ActionMode::kLive;
    switch (action.type) {
      case ActionEventType::kDecided:
        (live ? counters_->decided_live : counters_->decided_dry_run).Add();
        break;
      case ActionEventType::kDone:
        counters_->done.Add();
        break;
      case ActionEventType::kRefused:
        counters_->refused.Add();
        break;
      case ActionEventType::kRequested:
        break;
    }
  }
  if (!actions.empty()) {
    // Read the decisions back, so that a later start detects whether the log that contains them was
    // lost.
    std::set<std::string> jobs;
    for (const ActionEvent& action : actions) jobs.insert(action.job);
    if (const Status read = decisions_->ReadOf(jobs); !read.ok())
      PITWALL_LOG(kWarning, "executor", ToStd(read.message()));
  }
  return OkStatus();
}

}  // namespace pitwall::executor
