#include "services/processor/recovery/state_restorer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/snapshot_codec.h"
#include "services/io/topics.h"

namespace pitwall::processor {

StateRestorer::StateRestorer(int32_t partition, const ResumePoint& resume, engine::Shard* shard,
                             StoredSnapshots* stored, Replay* replay)
    : partition_(partition),
      resume_(resume),
      shard_(shard),
      stored_(stored),
      replay_(replay),
      read_from_(std::max(resume.metadata.replay, resume.log_start)),
      rules_(resume.metadata.rules) {}

StatusOr<int64_t> StateRestorer::Restore(Log* log, const PartitionOptions& options,
                                         const std::string& initial_rules) {
  ASSIGN_OR_RETURN(SnapshotTopic state,
                   ReadSavedState(log, partition_, resume_.offset, options.snapshot_limits));
  for (const std::string& damage : state.damage) {
    PITWALL_LOG(kError, "processor", "partition ", partition_, ": snapshots: ", damage);
  }
  const std::optional<SnapshotSum>& described = resume_.metadata.snapshots;
  intact_ = described.has_value() && *described == state.sum;
  size_t usable = 0;
  size_t lost = 0;
  for (auto& [job, saved] : state.jobs) {
    ASSIGN_OR_RETURN(const bool restored, RestoreJob(job, &saved));
    ++(restored ? usable : lost);
    if (!restored) saved.slots.offset = -1;
    for (auto& snapshot : saved.snapshots) snapshot.reset();  // release the memory
    stored_->Restore(job, saved.slots);
  }
  if (described.has_value() && usable + lost < described->jobs)
    lost += described->jobs - usable - lost;
  int64_t strangers_from = std::max(resume_.metadata.replay, resume_.log_start);
  if (lost > 0 || resume_.metadata.replay < resume_.log_start) {
    RebuildLost(lost, initial_rules);
    strangers_from = resume_.log_start;
  }
  RETURN_IF_ERROR(shard_->SetInitialRules(rules_));
  shard_->StartAt(LogOffset(read_from_), LogOffset(strangers_from));
  return read_from_;
}

StatusOr<bool> StateRestorer::RestoreJob(const std::string& job, SnapshotTopic::SavedJob* saved) {
  const int newer = saved->slots.newest;
  Status refused = OkStatus();
  for (const int slot : {newer, 1 - newer}) {
    const std::optional<codec::Snapshot>& snapshot = saved->snapshots[static_cast<size_t>(slot)];
    if (!snapshot.has_value()) continue;
    if (const Status status = Load(job, *snapshot); !status.ok()) {
      PITWALL_LOG(kError, "processor", "partition ", partition_, ": snapshot in slot ", slot, ": ",
                  ToStd(status.message()));
      // The snapshot is not corrupt, but has a different format version or a missing rule set.
      // Recovery must not discard it.
      if (!absl::IsDataLoss(status) || !engine::ReadsSnapshot(snapshot->format)) refused = status;
      continue;
    }
    if (!KeepJob(job, *snapshot)) continue;
    saved->slots.newest = slot;
    saved->slots.offset = snapshot->offset;
    return true;
  }
  if (refused.ok()) return false;
  return Annotate(refused, Cat("no snapshot of job ", Quote(job),
                               " can be restored, which blocks its partition (to rebuild the job "
                               "from the log, delete its records from ",
                               kStateTopic, ")"));
}

Status StateRestorer::Load(const std::string& job, const codec::Snapshot& snapshot) {
  ASSIGN_OR_RETURN(std::string payload, codec::UnpackSnapshot(snapshot));
  return shard_->RestoreJob({.job = job,
                             .offset = LogOffset(snapshot.offset),
                             .rule_set_hash = snapshot.rule_set_hash,
                             .format = snapshot.format,
                             .payload = std::move(payload)});
}

bool StateRestorer::KeepJob(const std::string& job, const codec::Snapshot& snapshot) {
  const int64_t at = snapshot.offset;
  const int64_t replay = resume_.metadata.replay;
  // The state of an ended job changes only if the job returns.
  const engine::Job* found = shard_->jobs().Find(job);
  const bool over = found == nullptr || found->state().lifecycle.ended();
  if (at < resume_.log_start && !over) {
    shard_->DropJob(job);  // records after the snapshot were deleted
    return false;
  }
  if (at < replay && !(over && intact_) && at >= resume_.log_start) {
    replay_->NoteRebuilt(1);
    PITWALL_LOG(kWarning, "processor", "partition ", partition_, ": job ", job,
                ": no snapshot at or after ", replay, "; rebuilt from the snapshot at offset ", at);
    if (at < read_from_) {
      read_from_ = at;
      rules_ = snapshot.rule_set_hash;
    }
  }
  return true;
}

void StateRestorer::RebuildLost(size_t lost, const std::string& initial_rules) {
  replay_->NoteRebuilt(lost);
  read_from_ = resume_.log_start;
  const bool whole = resume_.log_start == 0;
  if (whole) rules_ = initial_rules;
  shard_->RebuildStrangers(
      resume_.offset < resume_.log_start ? LogOffset::Max() : LogOffset(resume_.offset), whole);
  // Retention may have removed required records.
  replay_->NoteLostState(/*gap=*/resume_.metadata.replay < resume_.log_start);
  PITWALL_LOG(kError, "processor", "partition ", partition_,
              ": jobs without a usable snapshot: ", lost,
              "; the state is rebuilt from the start of the log, offset ", resume_.log_start,
              whole ? "" : ", and jobs that started earlier have lost history");
}

}  // namespace pitwall::processor
