#include "services/processor/partition/snapshot_writer.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/snapshot_codec.h"

namespace pitwall::processor {

Status SnapshotWriter::Write(const std::vector<std::string>& jobs, int64_t next_offset,
                             engine::Shard* shard) {
  for (const std::string& job : jobs) RETURN_IF_ERROR(WriteJob(job, next_offset, shard));
  return DeleteForgotten(shard);
}

Status SnapshotWriter::WriteJob(const std::string& job, int64_t next_offset, engine::Shard* shard) {
  const engine::JobSnapshot snapshot = shard->Snapshot(job, LogOffset(next_offset));
  const StatusOr<std::vector<std::string>> chunks =
      codec::SplitSnapshot(snapshot.job, snapshot.offset.value(), snapshot.rule_set_hash,
                           snapshot.format, snapshot.payload, options_.snapshot_limits);
  if (absl::IsResourceExhausted(chunks.status())) {
    Postpone(job, chunks.status(), shard);
    return OkStatus();
  }
  RETURN_IF_ERROR(chunks.status());
  SnapshotWrite write = stored_->Prepare(job, snapshot.offset.value(), *chunks);
  Commit commit = commits_->NewCommit(commits_->committed_offset(), metadata_(write.sum));
  commit.outputs = std::move(write.records);
  const Status saved = Annotate(commits_->Apply(commit), Cat("snapshot of job ", job));
  if (absl::IsInvalidArgument(saved)) {
    Postpone(job, saved, shard);
    return OkStatus();
  }
  RETURN_IF_ERROR(saved);
  stored_->NoteCommitted(write);
  shard->SnapshotCommitted(snapshot);
  return OkStatus();
}

// Retries the snapshot later. Until then, a restart replays the job's records if the log still has
// them.
void SnapshotWriter::Postpone(const std::string& job, const Status& why, engine::Shard* shard) {
  const std::string& reason = stored_->NoteUnsaved(job, why);
  PITWALL_LOG(kError, "processor", "partition ", partition_, ": ", reason);
  shard->PostponeSnapshot(job);
}

Status SnapshotWriter::DeleteForgotten(engine::Shard* shard) {
  const std::vector<std::string> forgotten = shard->TakeForgotten();
  if (forgotten.empty()) return OkStatus();
  std::vector<OutgoingRecord> records = stored_->Forget(forgotten);
  Commit commit = commits_->NewCommit(commits_->committed_offset(), metadata_(stored_->sum()));
  commit.outputs = std::move(records);
  return Annotate(commits_->Apply(commit), "deleting snapshots of jobs that ended");
}

}  // namespace pitwall::processor
