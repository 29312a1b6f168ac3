#include "services/executor/worker/action_committer.h"

#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/telemetry_codec.h"
#include "services/model/issues/job_end.h"

namespace pitwall::executor {
namespace {

// Returns the job telemetry record for an action. The record is committed in one transaction with
// the action, so it is sent exactly once. A decision announces the end of the job, so that
// subsequent process exits do not count as failures. A refusal withdraws the announcement. The
// outcome of the action ends the job (time-model.md, section 4). The source makes no promises, so
// no watermark waits for it. Its boot ID is the action's ID.
OutgoingRecord StopNotice(const ActionEvent& action, const ExecutorOptions& options,
                          int64_t now_ns) {
  Batch batch;
  batch.job = action.job;
  batch.owner = action.owner;
  batch.source = Cat("executor@", options.node);
  batch.boot_id = action.id;
  batch.sequence = 1;
  batch.info.kind = SourceKind::kForeign;
  batch.info.node = options.node;
  const bool done = action.type == ActionEventType::kDone;
  JobEvent word;
  word.kind = done ? JobEvent::Kind::kEnded : JobEvent::Kind::kNotice;
  word.time = EventTime::FromNs(now_ns);
  const bool refused = action.type == ActionEventType::kRefused;
  word.reason = done ? EndDetailName(EndDetail::kStopped) : refused ? kStopRefused : kStopping;
  const std::string by = action.principal.empty() ? Cat("rule ", action.rule) : action.principal;
  word.labels.push_back({std::string(kStoppedBy), by});
  batch.events.push_back(std::move(word));
  OutgoingRecord record;
  record.topic = options.telemetry_topic;
  record.key = action.job;
  codec::BatchEncoder().Encode(batch, &record.value);
  return record;
}

}  // namespace

ActionCommitter::ActionCommitter(Clock* clock, Log* log, const ExecutorOptions* options,
                                 DecisionIndex* index, ActionsTopic* decisions,
                                 ExecutorCounters* counters, IssueReader* reader,
                                 StopOutcomes* outcomes, TopicPartition at, std::string group)
    : clock_(clock),
      log_(log),
      options_(*options),
      index_(index),
      decisions_(decisions),
      counters_(counters),
      reader_(reader),
      outcomes_(outcomes),
      at_(std::move(at)),
      group_(std::move(group)) {}

Status ActionCommitter::Fence() {
  ASSIGN_OR_RETURN(committer_, log_->OpenCommitter(Cat(group_, "-", at_.partition)));
  return OkStatus();
}

void ActionCommitter::AddRecords(const ActionEvent& action, Commit* commit) const {
  OutgoingRecord record;
  record.topic = options_.actions_topic;
  record.key = action.job;
  record.value = cloudevents::EncodeCloudEvent(action);
  commit->outputs.push_back(std::move(record));
  const bool stops = action.type == ActionEventType::kDecided && action.mode == ActionMode::kLive;
  const bool withdraws = action.type == ActionEventType::kRefused && IsOutcome(action);
  if (!stops && !withdraws && !outcomes_->EndsJob(action)) return;
  if (log_->Partitions(options_.telemetry_topic).ok()) {
    commit->outputs.push_back(StopNotice(action, options_, clock_->WallNs()));
  } else {
    PITWALL_LOG(kWarning, "executor", "cannot notify job ", action.job, " of its stop: topic ",
                options_.telemetry_topic, " not found");
  }
}

Status ActionCommitter::Apply(const std::vector<ActionEvent>& actions, int64_t next_offset) {
  Commit commit;
  commit.group = group_;
  commit.input = at_;
  commit.next_offset = next_offset;
  for (const ActionEvent& action : actions) AddRecords(action, &commit);
  if (committer_ == nullptr) return Unavailable("another executor owns the partition");
  if (next_offset >= 0) commit.metadata = reader_->NextCommit();
  Status applied = committer_->Apply(commit);
  if (!applied.ok()) {
    counters_->failed_commits.Add();
    return applied;
  }
  reader_->NoteCommit(next_offset);
  for (const ActionEvent& action : actions) NoteCommit(action);
  if (!actions.empty()) ReadBack(actions);
  return OkStatus();
}

Status ActionCommitter::CommitOutcomes() {
  if (outcomes_->pending().empty()) return OkStatus();
  RETURN_IF_ERROR(Apply(outcomes_->pending(), -1));
  outcomes_->Clear();
  return OkStatus();
}

void ActionCommitter::NoteCommit(const ActionEvent& action) {
  index_->Record(action);
  outcomes_->NoteCommit(action);
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

void ActionCommitter::ReadBack(const std::vector<ActionEvent>& actions) {
  std::set<std::string> jobs;
  for (const ActionEvent& action : actions) jobs.insert(action.job);
  if (const Status read = decisions_->ReadOf(jobs); !read.ok())
    PITWALL_LOG(kWarning, "executor", ToStd(read.message()));
}

}  // namespace pitwall::executor
