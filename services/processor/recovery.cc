// Recovery of a PartitionProcessor. The last commit contains the end of the outputs (C), the first
// required record (L), and a summary of the snapshots. Recovery rebuilds the state from the
// snapshots and the records from L on (time-model.md, section 6;
// docs/decisions/0015-detect-lost-state.md).
#include <algorithm>
#include <optional>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/processor/partition_processor.h"
#include "services/processor/published_issues.h"

namespace pitwall::processor {

struct PartitionProcessor::Resume {
  bool committed = false;
  int64_t offset = 0;  // offset C
  CommitMetadata metadata;
  int64_t log_start = 0;
  int64_t log_end = 0;
};

namespace {

// Returns true if the error means permanent data loss. An unavailable log returns a different code.
bool IsGone(const Status& status) { return absl::IsDataLoss(status) || absl::IsNotFound(status); }

}  // namespace

Status PartitionProcessor::WithRemedy(Status status) {
  if (!IsGone(status)) return status;
  return Status(status.code(), Cat(ToStd(status.message()), "; or ", kDropState));
}

bool PartitionProcessor::ResetAccepted(const Status& why) {
  if (!options_.accept_log_reset || reset_accepted_) return false;
  PITWALL_LOG(kWarning, "processor", "partition ", partition_,
              ": log reset accepted: ", ToStd(why.message()));
  return true;
}

void PartitionProcessor::BeginShard() {
  shard_ = std::make_unique<engine::Shard>(rules_, options_.engine);
  slots_.clear();
  snapshot_sum_ = {};
  replayed_ = rebuilt_jobs_ = 0;
  settle_due_ = false;
}

Status PartitionProcessor::Recover() {
  // Opening the committer fences the previous owner, so the state that is read below is final. If
  // this owner restarts after a failure, other clients have probably lost their connection to the
  // log as well (time-model.md 2.1). Clock ticks therefore pause, so that no source is considered
  // silent.
  if (recovered_before_) ticks_paused_until_ = clock_->MonotonicNs() + options_.outage_grace_ns;
  recovered_before_ = true;
  ASSIGN_OR_RETURN(committer_,
                   log_->OpenCommitter(Cat(options_.group, "-", input_.topic, "-", partition_)));
  BeginShard();
  records_.clear();
  next_record_ = 0;
  outputs_ = {};
  unsaved_.clear();
  last_tick_ns_ = last_probe_ns_ = end_seen_ = -1;
  appended_rules_.clear();
  released_ = false;
  ASSIGN_OR_RETURN(Resume resume, FindResume());
  if (const Status same = CheckLog(resume); !same.ok()) {
    if (!absl::IsFailedPrecondition(same) || !ResetAccepted(same)) return same;
    RETURN_IF_ERROR(AcceptLogReset(&resume));
  } else if (IsGone(replay_fault_) && ResetAccepted(replay_fault_)) {
    RETURN_IF_ERROR(AcceptLogReset(&resume));
  }
  RETURN_IF_ERROR(Announce(resume));
  applied_ = resume.metadata.applied;
  initial_rules_ = resume.metadata.initial_rules;
  read_from_ = resume.log_start;
  suppress_below_ = 0;
  if (resume.committed) {
    if (Status restored = RestoreState(resume); !restored.ok()) {
      if (!IsGone(restored) || !ResetAccepted(restored)) return WithRemedy(std::move(restored));
      BeginShard();
      RETURN_IF_ERROR(AcceptLogReset(&resume));
      applied_ = resume.metadata.applied;
      RETURN_IF_ERROR(RestoreState(resume));
    }
    suppress_below_ = resume.offset;
  } else {
    RETURN_IF_ERROR(BeginWithRules(resume));
    shard_->StartAt(read_from_);
  }
  ASSIGN_OR_RETURN(reader_, log_->OpenReader(input_, read_from_));
  next_offset_ = read_from_;
  committed_offset_ = resume.committed ? resume.offset : next_offset_;
  last_commit_ns_ = caught_up_ns_ = clock_->MonotonicNs();
  PITWALL_LOG(kInfo, "processor", "partition ", partition_, ": committed offset ",
              committed_offset_, ", replaying from ", next_offset_,
              ", jobs restored: ", shard_->counters().restored_jobs);
  Publish();
  return OkStatus();
}

// Records that precede the first start of any processor are evaluated with the desired rule set,
// because a rule change can only be appended after those records.
Status PartitionProcessor::BeginWithRules(const Resume& resume) {
  initial_rules_.clear();
  if (resume.log_end > resume.log_start) {
    MutexLock lock(&mutex_);
    initial_rules_ = wanted_rules_;
  }
  return shard_->SetInitialRules(initial_rules_);
}

StatusOr<PartitionProcessor::Resume> PartitionProcessor::FindResume() {
  Resume resume;
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed,
                   log_->Committed(options_.group, input_));
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log_->OpenReader(input_, kFromEnd));
  ASSIGN_OR_RETURN(resume.log_start, reader->StartOffset());
  ASSIGN_OR_RETURN(resume.log_end, reader->EndOffset());
  if (!committed.has_value()) return resume;
  resume.committed = true;
  resume.offset = committed->offset;
  ASSIGN_OR_RETURN(resume.metadata, ParseCommitMetadata(committed->metadata));
  resume.metadata.replay = std::min(resume.metadata.replay, resume.offset);
  return resume;
}

Status PartitionProcessor::CheckLog(const Resume& resume) {
  const std::string place = Cat(input_.topic, " partition ", partition_);
  if (!resume.committed) {
    ASSIGN_OR_RETURN(const SnapshotTopic state,
                     ReadSavedState(log_, partition_, INT64_MAX, options_.snapshot_limits));
    if (state.sum.jobs == 0) return OkStatus();
    return FailedPrecondition(Cat("commit_lost: ", place, ": ", kStateTopic, " has snapshots of ",
                                  state.sum.jobs, " jobs, but the group ", options_.group,
                                  " has no committed offset; ", kAcceptReset));
  }
  if (resume.log_end < resume.offset) {
    return FailedPrecondition(Cat("log_truncated: ", place, ": the log ends at offset ",
                                  resume.log_end, ", below the committed offset ", resume.offset,
                                  " (topic deleted, recreated, or truncated); ", kAcceptReset));
  }
  // A replaced log may have grown beyond the previous end.
  const std::optional<AppliedRecord>& applied = resume.metadata.applied;
  if (!applied.has_value() || applied->offset < resume.log_start ||
      applied->offset >= resume.log_end)
    return OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log_->OpenReader(input_, applied->offset));
  std::vector<Record> records;
  if (Status status = reader->Poll(1, 1, kNanosPerSecond, &records);
      !status.ok() && !absl::IsDataLoss(status))
    return status;
  if (records.empty() || records[0].offset != applied->offset ||
      records[0].append_time_ns == applied->append_time_ns)
    return OkStatus();
  return FailedPrecondition(Cat("log_truncated: ", place, ": the record at offset ",
                                applied->offset, " is not the one that was processed (append time ",
                                records[0].append_time_ns, " instead of ", applied->append_time_ns,
                                "; topic replaced); ", kAcceptReset));
}

Status PartitionProcessor::AcceptLogReset(Resume* resume) {
  ASSIGN_OR_RETURN(const SnapshotTopic state,
                   ReadSavedState(log_, partition_, INT64_MAX, options_.snapshot_limits));
  int64_t from = resume->log_start;
  if (!resume->committed) {
    // The lost offset C was at or above the offset S of every snapshot.
    for (const auto& [job, saved] : state.jobs) from = std::max(from, saved.slots.offset);
    from = std::min(from, resume->log_end);
  } else if (resume->metadata.applied.has_value()) {
    // Records with an append time up to that of the last applied record count as processed. All
    // later records are new.
    ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                     log_->OpenReader(input_, kFromStart));
    std::vector<Record> records;
    bool found = false;
    while (!found && reader->position() < resume->log_end) {
      records.clear();
      if (Status status = reader->Poll(1000, 8 << 20, kNanosPerSecond, &records);
          !status.ok() && !absl::IsDataLoss(status))
        return status;
      for (const Record& record : records) {
        if (record.append_time_ns > resume->metadata.applied->append_time_ns) {
          from = record.offset;
          found = true;
          break;
        }
      }
    }
    if (!found) from = resume->log_end;
  }
  // Recovery skips the record that stopped the replay and treats a missing rule set as empty.
  from = std::clamp(replay_fault_offset_ + 1, from, std::max(from, resume->log_end));
  if (!resume->metadata.rules.empty() && !rules_->Load(resume->metadata.rules).ok())
    resume->metadata.rules.clear();
  ASSIGN_OR_RETURN(const PublishedIssues published, PublishedIssues::Read(log_, partition_));
  std::vector<IssueEvent> events;
  for (const std::string& job : published.Jobs()) {
    published.EndIssues(job, 0, &events);
    published.StopRules(job, "the log was reset", &events);
  }
  resume->committed = true;
  resume->offset = from;
  resume->metadata.replay = from;
  resume->metadata.snapshots = SnapshotSum();
  resume->metadata.initial_rules.clear();
  resume->metadata.applied.reset();
  resume->metadata.owner = options_.owner;
  Commit commit{.group = options_.group,
                .input = input_,
                .next_offset = from,
                .metadata = EncodeCommitMetadata(resume->metadata),
                .outputs = {}};
  for (const IssueEvent& event : events) {
    commit.outputs.push_back({.topic = std::string(kIssuesTopic),
                              .partition = partition_,
                              .key = event.job,
                              .value = cloudevents::EncodeCloudEvent(event),
                              .headers = {{"content-type", "application/cloudevents+json"}}});
  }
  for (const auto& [job, saved] : state.jobs) {
    for (int slot = 0; slot < 2; ++slot) {
      for (uint32_t i = 0; i < saved.slots.chunks[slot]; ++i) {
        commit.outputs.push_back({.topic = std::string(kStateTopic),
                                  .partition = partition_,
                                  .key = ChunkKey(partition_, job, slot, i),
                                  .value = {},
                                  .tombstone = true});
      }
    }
  }
  RETURN_IF_ERROR(Annotate(committer_->Apply(commit), "accepting the existing log"));
  reset_accepted_ = true;
  replay_fault_ = OkStatus();
  replay_fault_offset_ = -1;
  return OkStatus();
}

// This commit lets a fenced owner see immediately which owner fenced it.
Status PartitionProcessor::Announce(const Resume& resume) {
  if (!resume.committed || options_.owner.empty() || resume.metadata.owner == options_.owner ||
      !resume.metadata.snapshots.has_value())
    return OkStatus();
  CommitMetadata metadata = resume.metadata;
  metadata.owner = options_.owner;
  return Annotate(committer_->Apply({.group = options_.group,
                                     .input = input_,
                                     .next_offset = resume.offset,
                                     .metadata = EncodeCommitMetadata(metadata),
                                     .outputs = {}}),
                  "announcing the new owner");
}

Status PartitionProcessor::RestoreState(const Resume& resume) {
  ASSIGN_OR_RETURN(SnapshotTopic state,
                   ReadSavedState(log_, partition_, resume.offset, options_.snapshot_limits));
  for (const std::string& damage : state.damage) {
    PITWALL_LOG(kError, "processor", "partition ", partition_, ": snapshots: ", damage);
  }
  const int64_t replay = resume.metadata.replay;
  // True if the stored snapshots are exactly those that the commit describes.
  const bool intact =
      resume.metadata.snapshots.has_value() && *resume.metadata.snapshots == state.sum;
  read_from_ = std::max(replay, resume.log_start);
  std::string rules = resume.metadata.rules;
  size_t usable = 0;
  size_t lost = 0;
  for (auto& [job, saved] : state.jobs) {
    const int newer = saved.slots.newest;
    bool restored = false;
    Status refused = OkStatus();
    for (const int slot : {newer, 1 - newer}) {
      std::optional<codec::Snapshot>& snapshot = saved.snapshots[static_cast<size_t>(slot)];
      if (!snapshot.has_value()) continue;
      const int64_t at = snapshot->offset;
      StatusOr<std::string> payload = codec::UnpackSnapshot(*snapshot);
      Status status = payload.status();
      if (status.ok()) {
        status = shard_->RestoreJob({.job = job,
                                     .offset = at,
                                     .rule_set_hash = snapshot->rule_set_hash,
                                     .format = snapshot->format,
                                     .payload = *std::move(payload)});
      }
      if (!status.ok()) {
        PITWALL_LOG(kError, "processor", "partition ", partition_, ": snapshot in slot ", slot,
                    ": ", ToStd(status.message()));
        // The snapshot is not corrupt, but it has a different format version or its rule set is
        // missing. Recovery must not discard such a snapshot.
        if (!absl::IsDataLoss(status) || !engine::ReadsSnapshot(snapshot->format)) refused = status;
        continue;
      }
      // The state of an ended job changes only if the job returns.
      const engine::Job* found = shard_->jobs().Find(job);
      const bool over = found == nullptr || found->lifecycle().ended();
      if (at < resume.log_start && !over) {
        shard_->DropJob(job);  // records after the snapshot were deleted
        continue;
      }
      restored = true;
      if (at < replay && !(over && intact) && at >= resume.log_start) {
        ++rebuilt_jobs_;
        PITWALL_LOG(kWarning, "processor", "partition ", partition_, ": job ", job,
                    ": no snapshot at or after ", replay, "; rebuilt from the snapshot at offset ",
                    at);
        if (at < read_from_) {
          read_from_ = at;
          rules = snapshot->rule_set_hash;
        }
      }
      saved.slots.newest = slot;
      saved.slots.offset = at;
      break;
    }
    if (!restored && !refused.ok()) {
      return Annotate(refused,
                      Cat("no snapshot of job ", Quote(job),
                          " can be restored, which blocks its partition (to rebuild the job from "
                          "the log, delete its records from ",
                          kStateTopic, ")"));
    }
    if (!restored) {
      saved.slots.offset = -1;
      ++lost;
    } else {
      ++usable;
      snapshot_sum_.Add(job, saved.slots.offset);
    }
    for (auto& snapshot : saved.snapshots) snapshot.reset();  // release the memory
    slots_[job] = saved.slots;
  }
  if (resume.metadata.snapshots.has_value() && usable + lost < resume.metadata.snapshots->jobs)
    lost += resume.metadata.snapshots->jobs - usable - lost;
  const bool gap = replay < resume.log_start;  // true if retention has removed required records
  int64_t strangers_from = std::max(replay, resume.log_start);
  if (lost > 0 || gap) {
    rebuilt_jobs_ += lost;
    read_from_ = strangers_from = resume.log_start;
    const bool whole = resume.log_start == 0;
    if (whole) rules = initial_rules_;
    shard_->RebuildStrangers(resume.offset < resume.log_start ? INT64_MAX : resume.offset, whole);
    settle_due_ = true;
    if (gap) ++input_losses_;
    PITWALL_LOG(kError, "processor", "partition ", partition_,
                ": jobs without a usable snapshot: ", lost,
                "; the state is rebuilt from the start of the log, offset ", resume.log_start,
                whole ? "" : ", and jobs that started earlier have lost history");
  }
  RETURN_IF_ERROR(shard_->SetInitialRules(rules));
  shard_->StartAt(read_from_, strangers_from);
  return OkStatus();
}

Status PartitionProcessor::Loss(const Status& status) {
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  if (end < next_offset_) return TruncatedAt(end);
  // Retention or corruption has removed records. The processor continues with the remaining records
  // and reports the loss.
  PITWALL_LOG(kError, "processor", "partition ", partition_, ": ", ToStd(status.message()));
  ++input_losses_;
  if (next_offset_ < suppress_below_) {
    // The lost records were processed before, so the published issues cannot be derived from the
    // remaining records.
    shard_->LoseHistory(reader_->position());
    shard_->RebuildStrangers(suppress_below_, /*whole=*/false);
    settle_due_ = true;
  }
  return OkStatus();
}

Status PartitionProcessor::Settle() {
  if (!settle_due_) return OkStatus();
  ASSIGN_OR_RETURN(const PublishedIssues published, PublishedIssues::Read(log_, partition_));
  for (const std::string& job : published.Jobs()) {
    const engine::Job* found = shard_->jobs().Find(job);
    if (found != nullptr && !found->lifecycle().ended()) continue;
    published.EndIssues(job, 0, &outputs_.events);
    published.StopRules(job, "history lost: state and records of the job are gone",
                        &outputs_.events);
  }
  for (const std::string& job : shard_->jobs().NeedsReconcile()) {
    shard_->ReconcileAlerts(job);
    const engine::Job* found = shard_->jobs().Find(job);
    if (found == nullptr || found->lifecycle().ended()) continue;
    published.EndIssues(job, found->clock().begun() ? found->clock().watermark() : 0,
                        &outputs_.events);
    published.EmitStatuses(*found, &outputs_.events);
  }
  settle_due_ = false;
  return OkStatus();
}

}  // namespace pitwall::processor
