#include "services/executor/partition_worker.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::executor {
namespace {

constexpr Duration kPoll = Duration::Seconds(1);
constexpr int64_t kRetryNs = kNanosPerSecond;
// Maximum number of candidates per decision round. Only a flood of issues can reach it. At this
// limit, the worker decides before it reaches the end of the log.
constexpr size_t kMaxCandidates = 10'000;

std::string GroupOf(const ExecutorOptions& options) {
  return Cat(options.group, "-", options.node);
}

}  // namespace

PartitionWorker::PartitionWorker(Clock* clock, Log* log, const StopTargets* targets,
                                 const ExecutorOptions* options, DecisionIndex* index,
                                 ActionsTopic* decisions, ExecutorCounters* counters,
                                 int32_t partition)
    : clock_(clock),
      targets_(targets),
      index_(index),
      decisions_(decisions),
      counters_(counters),
      at_{options->issues_topic, partition},
      reader_(clock, log, counters, &health_, at_, GroupOf(*options)),
      requests_(clock, log, options->actions_topic, options->issues_topic, partition),
      committer_(clock, log, options, index, decisions, counters, &reader_, &outcomes_, at_,
                 GroupOf(*options)),
      candidates_(targets, options, index, decisions, counters),
      stops_(clock, index, &outcomes_),
      worker_(clock, "executor", partition) {
  worker_.OnStop([this] { reader_.Interrupt(); });
}

PartitionWorker::~PartitionWorker() { Stop(); }

Status PartitionWorker::Fence() { return committer_.Fence(); }

Status PartitionWorker::Open(std::vector<ActionEvent> unfinished) {
  RETURN_IF_ERROR(reader_.Open());
  for (const ActionEvent& decision : unfinished) {
    StopTarget* const target = targets_->Choose(decision.target).target;
    if (target == nullptr) continue;
    const StatusOr<StopEffect> effect = target->Effect(decision);
    constexpr std::string_view kWhen = "the executor restarted after the decision";
    if (!effect.ok()) {
      outcomes_.Finish(decision, Cat("unknown: ", kWhen,
                                     "; the stop may have been executed and is not repeated: ",
                                     ToStd(effect.status().message())));
    } else if (effect->stopped) {
      outcomes_.Finish(decision, Cat("no longer running: ", kWhen), /*stopped=*/true);
    } else {
      outcomes_.Finish(decision, Cat("still running: ", kWhen,
                                     "; the stop may have been executed and is not repeated"));
    }
  }
  return OkStatus();
}

void PartitionWorker::Hold(const Status& why) {
  health_.Set(why);
  PITWALL_LOG(kError, "executor", at_.topic, "/", at_.partition, ": ", ToStd(why.message()));
  committer_.Close();  // Reopen reads the decisions before the next commit
}

void PartitionWorker::Start() {
  worker_.Start([this] { Loop(); });
}

void PartitionWorker::Stop() { worker_.Stop(); }

Status PartitionWorker::health() const { return health_.Read(clock_->MonotonicNs()); }

void PartitionWorker::Loop() {
  while (!worker_.stopping()) {
    Status status = committer_.is_open() ? OkStatus() : Reopen();
    if (status.ok()) status = Step();
    health_.Set(Annotate(status, Cat(at_.topic, "/", at_.partition)));
    if (status.ok()) continue;
    PITWALL_LOG(kError, "executor", at_.topic, "/", at_.partition, ": ", ToStd(status.message()));
    // Either another executor took over this partition, or the result of a commit is unknown.
    if (status.code() == absl::StatusCode::kAborted) committer_.Close();
    worker_.Wait(kRetryNs);
  }
  stops_.Abandon();
  stops_.CancelAll("not executed: the executor stopped first");
  if (const Status status = committer_.CommitOutcomes(); !status.ok()) {
    PITWALL_LOG(kError, "executor", "failed to record the outcome: ", ToStd(status.message()));
  }
}

Status PartitionWorker::Reopen() {
  RETURN_IF_ERROR(Fence());
  Status read = ReadBack();
  if (!read.ok()) committer_.Close();
  return read;
}

Status PartitionWorker::ReadBack() {
  RETURN_IF_ERROR(decisions_->ReadAll());
  ASSIGN_OR_RETURN(const bool ours, reader_.Rewind());
  candidates_.Clear();
  outcomes_.DropRecorded(*index_);
  stops_.Confirm(ours);
  return OkStatus();
}

Status PartitionWorker::OnReplacedLog() {
  // The new log repeats only open issues, so the state of all other issues is unknown.
  candidates_.Clear();
  stops_.CancelAll("not executed: the log of issues was replaced first");
  return committer_.Apply({}, reader_.position());
}

Status PartitionWorker::Step() {
  RETURN_IF_ERROR(committer_.CommitOutcomes());
  FollowedRecords read;
  const Status polled = reader_.Poll(
      stops_.Has(StopState::kExecuted) ? Duration::Nanos(targets_->look_interval_ns()) : kPoll,
      &read);
  for (const Record& record : read.records) Note(record);
  std::vector<IssueEvent> asked;
  if (const Status status = requests_.Read(&asked); !status.ok())
    PITWALL_LOG(kWarning, "executor", ToStd(status.message()));
  for (IssueEvent& request : asked) candidates_.Consider(std::move(request));
  if (!read.replaced.ok()) RETURN_IF_ERROR(OnReplacedLog());
  if (!read.loss.ok()) PITWALL_LOG(kWarning, "executor", ToStd(read.loss.message()));
  RETURN_IF_ERROR(polled);
  stops_.CheckEffects();
  if (candidates_.size() == 0 && !stops_.Has(StopState::kCommitted)) {
    // The position may be stored late, because no other state depends on it.
    if (reader_.IsCommitDue()) RETURN_IF_ERROR(committer_.Apply({}, reader_.position()));
    return OkStatus();
  }
  // The worker decides only on issues that are still open at the current end of the log.
  ASSIGN_OR_RETURN(const int64_t end, reader_.EndOffset());
  if (reader_.position() < end && candidates_.size() < kMaxCandidates) return OkStatus();
  return DecideAll();
}

void PartitionWorker::Note(const Record& record) {
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
    candidates_.Remove(issue);
    stops_.Cancel(issue, "not executed: the issue ended before the commit was confirmed");
    return;
  }
  candidates_.Consider(*std::move(event));
}

Status PartitionWorker::DecideAll() {
  stops_.ExecuteCommitted();
  ASSIGN_OR_RETURN(const std::vector<StopDecision> decisions, candidates_.Decide());
  std::vector<ActionEvent> actions;
  std::vector<StopDecision> stops;
  for (const StopDecision& decision : decisions) {
    actions.push_back(decision.action);
    if (decision.live()) stops.push_back(decision);
  }
  // Commit the decisions first, because every action requires a recorded decision.
  const Status committed = committer_.Apply(actions, reader_.position());
  if (absl::IsAborted(committed)) {
    stops_.OnUnconfirmed(stops);
    return committed;
  }
  if (!committed.ok()) {
    stops_.OnFailed(stops);
    return committed;
  }
  candidates_.Clear();
  stops_.OnCommitted(stops);
  return committer_.CommitOutcomes();
}

}  // namespace pitwall::executor
