#include "services/processor/partition_processor.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"
#include "services/processor/partition/control_records.h"

namespace pitwall::processor {

namespace {

// Returns the states of the jobs in `watch`.
WatchedJobs Inspect(const std::vector<std::string>& watch, const engine::Shard& shard) {
  WatchedJobs seen;
  for (const std::string& id : watch) {
    WatchedJob& one = seen[id];
    one.rule_set_hash = shard.rule_sets().hash();
    const engine::Job* job = shard.jobs().Find(id);
    if (job == nullptr) continue;
    one.found = true;
    one.ended = job->state().lifecycle.ended();
    one.identity = job->state().identity;
  }
  return seen;
}

// Counts the jobs and their sources. Returns the ID of the first job with lost history, or "".
std::string CountJobs(const std::vector<const engine::Job*>& jobs, JobStats* stats) {
  std::string first_lost;
  for (const engine::Job* job : jobs) {
    ++stats->count;
    stats->live_sources += job->state().sources().CountLive();
    if (!job->state().domains().history_lost()) continue;
    if (stats->history_lost++ == 0) first_lost = job->state().identity.id;
  }
  return first_lost;
}

}  // namespace

PartitionProcessor::PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                                       const PartitionOptions& options)
    : clock_(clock),
      log_(log),
      rules_(rules),
      options_(options),
      topic_{std::string(kTelemetryTopic), partition},
      input_(topic_),
      memory_(partition, clock, options.memory),
      ticks_(options_),
      commits_(topic_, clock, &ticks_, options_),
      stored_(partition),
      snapshots_(partition, options_, &commits_, &stored_,
                 [this](const SnapshotSum& sum) { return Metadata(sum); }),
      replay_(partition),
      reset_(topic_, log, rules, options_) {}

PartitionProcessor::~PartitionProcessor() = default;

std::string PartitionProcessor::Metadata(const SnapshotSum& snapshots) const {
  const LogOffset replay = shard_->replay_offset();
  return EncodeCommitMetadata({.replay = replay.value(),
                               .rules = shard_->rule_sets().HashAt(replay),
                               .snapshots = snapshots,
                               .applied = input_.applied(),
                               .initial_rules = initial_rules_,
                               .owner = released_ ? "" : options_.owner});
}

Status PartitionProcessor::PollInput(Duration timeout) {
  const MonotonicTime now = clock_->Monotonic();
  Duration wait = timeout;
  // A pending commit shortens the wait, which could otherwise be long while ticks are paused.
  if (commits_.Pending(input_.next_offset()))
    wait = std::min(wait, commits_.last_commit() + options_.commit_interval - now);
  if (options_.clock_ticks) wait = std::min(wait, end_.NextProbe(options_.tick_interval) - now);
  size_t bytes = 0;
  const Status status = input_.Poll(options_.poll_records, options_.poll_bytes,
                                    std::max(wait, Duration::Zero()), &bytes);
  memory_.AddInput(bytes);
  if (!absl::IsDataLoss(status)) return status;
  ASSIGN_OR_RETURN(const int64_t end, input_.ReadEnd());
  RETURN_IF_ERROR(input_.CheckEnd(end));
  replay_.LoseInput(status, input_.next_offset(), LogOffset(input_.reader_offset()), shard_.get());
  return OkStatus();
}

Status PartitionProcessor::ApplyRecords() {
  engine::EventSink* const outputs = commits_.outputs();
  while (!input_.drained()) {
    ASSIGN_OR_RETURN(const Record* const record, input_.Front());
    const bool suppressed = replay_.Suppresses(record->offset);
    if (!suppressed) RETURN_IF_ERROR(replay_.Settle(log_, shard_.get(), &outputs->events));
    engine::EventSink scratch;
    if (Status applied = shard_->Apply(LogOffset(record->offset), record->append_time, record->key,
                                       record->value, suppressed ? &scratch : outputs);
        !applied.ok())
      return reset_.NoteFault(record->offset, std::move(applied));
    replay_.NoteApplied(record->offset);
    input_.Pop();
    // Commits events before applying the remaining records, and bounds the pending dead letters.
    if (commits_.MustCommit()) break;
  }
  input_.SkipEmptyOffsets();
  if (replay_.Suppresses(input_.next_offset())) return OkStatus();
  return replay_.Settle(log_, shard_.get(), &outputs->events);
}

Status PartitionProcessor::PausedRound(Duration timeout) {
  const int64_t next = input_.next_offset();
  if (memory_.Pause() && next > commits_.committed_offset() && !replay_.Suppresses(next))
    RETURN_IF_ERROR(CommitNow(/*with_tick=*/false));
  end_.ForgetEnd();  // no clock tick is due until the processor reaches the end of the log again
  memory_.Measure(*shard_);
  Publish();
  memory_.Wait(timeout);
  return OkStatus();
}

Status PartitionProcessor::RunOnce(Duration timeout) {
  if (input_.drained()) {
    memory_.Measure(*shard_);
    if (memory_.MustPause()) return PausedRound(timeout);
    memory_.Resume();
    RETURN_IF_ERROR(PollInput(timeout));
  }
  RETURN_IF_ERROR(ApplyRecords());

  const int64_t next = input_.next_offset();
  const MonotonicTime now = clock_->Monotonic();
  ASSIGN_OR_RETURN(const bool tick, TickDue(now));
  const bool rules_due = input_.drained() && !RulesDue().empty();
  const bool idle_due = options_.clock_ticks && !replay_.Suppresses(next) &&
                        commits_.Elapsed(now, options_.idle_commit_interval);
  const bool input_due = commits_.Pending(next) && commits_.Elapsed(now, options_.commit_interval);
  if (!commits_.MustCommit() && !tick && !rules_due && !idle_due && !input_due) return OkStatus();
  RETURN_IF_ERROR(CommitNow(tick));
  const std::vector<std::string> due =
      shard_->jobs().SnapshotsDue(options_.snapshot_interval, options_.snapshots_per_round);
  if (due.empty() || replay_.Suppresses(commits_.committed_offset()) || replay_.Suppresses(next))
    return OkStatus();
  RETURN_IF_ERROR(snapshots_.Write(due, next, shard_.get()));
  Publish();
  return OkStatus();
}

StatusOr<bool> PartitionProcessor::TickDue(MonotonicTime now) {
  if (!end_.Due(now, options_.tick_interval)) return false;
  const bool reached = input_.drained() && end_.Reached(input_.reader_offset());
  if (const StatusOr<int64_t> end = input_.ReadEnd(); end.ok()) {
    end_.NoteEnd(*end);
    RETURN_IF_ERROR(input_.CheckEnd(*end));
  } else {
    // The end is unknown, so no clock tick is due until it is reached again.
    end_.ForgetEnd();
  }
  end_.NoteProbe(now);
  return reached && ticks_.Allowed(now) && !replay_.Suppresses(commits_.committed_offset());
}

std::string PartitionProcessor::RulesDue() const {
  std::string wanted = shared_.wanted_rules();
  const bool due = wanted != shard_->rule_sets().hash() && wanted != appended_rules_ &&
                   end_.Reached(input_.reader_offset());
  return due ? wanted : "";
}

Status PartitionProcessor::CommitNow(bool with_tick) {
  // The committed offset does not change while old records are replayed.
  Commit commit =
      commits_.NewCommit(std::max(input_.next_offset(), replay_.end()), Metadata(stored_.sum()));
  commits_.AddOutputs(&commit);
  std::string new_rules = RulesDue();
  if (!new_rules.empty()) commit.outputs.push_back(RuleChangeRecord(topic_, new_rules));
  const MonotonicTime begin = clock_->Monotonic();
  if (with_tick) commit.outputs.push_back(ClockTickRecord(topic_, ticks_.ElapsedAt(begin)));
  if (const Status status = commits_.CommitOutputs(&commit); !status.ok()) {
    Publish();
    return Annotate(
        status, Cat("commit of partition ", topic_.partition, " at offset ", commit.next_offset));
  }
  if (with_tick) ticks_.NoteCommitted(begin);
  if (!new_rules.empty()) appended_rules_ = std::move(new_rules);
  end_.NoteCommitted(commit.next_offset);
  Publish();
  return OkStatus();
}

Status PartitionProcessor::Finish() {
  if (shard_ == nullptr) return OkStatus();
  RETURN_IF_ERROR(CommitNow(/*with_tick=*/false));
  if (replay_.Suppresses(commits_.committed_offset()) || replay_.Suppresses(input_.next_offset()))
    return OkStatus();
  RETURN_IF_ERROR(replay_.Settle(log_, shard_.get(), &commits_.outputs()->events));
  RETURN_IF_ERROR(snapshots_.Write(shard_->jobs().SnapshotsDue(Duration::Zero(), SIZE_MAX),
                                   input_.next_offset(), shard_.get()));
  released_ = true;
  return CommitNow(/*with_tick=*/false);  // commits the offset at which the next owner starts
}

bool PartitionProcessor::CaughtUp() {
  if (!input_.drained() || commits_.has_events()) return false;
  const StatusOr<int64_t> end = input_.ReadEnd();
  return end.ok() && input_.reader_offset() >= *end &&
         commits_.committed_offset() >= input_.next_offset();
}

void PartitionProcessor::Publish() {
  PartitionStats stats;
  stats.partition = topic_.partition;
  stats.counters = shard_->counters();
  stats.commits = commits_.stats();
  stats.replay = replay_.stats();
  stats.end_offset = std::max(end_.end(), input_.next_offset());
  stats.replay_offset = shard_->replay_offset();
  stats.caught_up = end_.caught_up();
  stats.snapshots = stored_.written();
  memory_.Measure(*shard_);
  const std::vector<const engine::Job*> jobs = shard_->jobs().All();
  for (const std::string& line : grace_watch_.Look(jobs)) PITWALL_LOG(kWarning, "processor", line);
  stats.jobs.in_grace = grace_watch_.waiting();
  stats.jobs.memory_bytes = memory_.bytes();
  const std::string first_lost = CountJobs(jobs, &stats.jobs);
  const size_t lost = stats.jobs.history_lost;
  const uint64_t refused = stats.commits.refused_outputs;
  if (memory_.paused()) {
    stats.trouble = memory_.WhyPaused();
  } else if (lost > 0) {
    stats.trouble = Cat("jobs with lost history: ", lost, " (", first_lost, lost > 1 ? ", …" : "",
                        "); their rules are in Error until their windows are full");
  } else if (const std::string unsaved = stored_.WhyUnsaved(); !unsaved.empty()) {
    stats.trouble =
        Cat(unsaved, "; the next start rebuilds the job from the log; reduce its series");
  } else if (refused > 0) {
    stats.trouble =
        Cat(refused, refused == 1 ? " record was" : " records were",
            " dropped because the log permanently rejects them (", commits_.refusal(), ")");
  }
  stats.paused = memory_.paused();
  stats.recovering = replay_.Suppresses(input_.next_offset());
  stats.rule_set_hash = shard_->rule_sets().hash();
  // While old records are replayed, the job states are outdated.
  WatchedJobs watched;
  if (!stats.recovering) watched = Inspect(shared_.watch(), *shard_);
  shared_.Publish(std::move(stats), std::move(watched));
}

}  // namespace pitwall::processor
