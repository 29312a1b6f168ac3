// Recovery of a PartitionProcessor. The last commit contains the end of the outputs (C), the first
// required record (L), and a summary of the snapshots. Recovery rebuilds the state from the
// snapshots and the records starting at L (time-model.md, section 6;
// docs/decisions/0015-detect-lost-state.md).
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/processor/partition_processor.h"
#include "services/processor/recovery/state_restorer.h"

namespace pitwall::processor {

namespace {

// This commit lets a fenced owner see immediately which owner fenced it.
Status Announce(const std::string& owner, const ResumePoint& resume, CommitPipeline* commits) {
  if (!resume.committed || owner.empty() || resume.metadata.owner == owner ||
      !resume.metadata.snapshots.has_value())
    return OkStatus();
  CommitMetadata metadata = resume.metadata;
  metadata.owner = owner;
  return Annotate(
      commits->ApplyInRecovery(commits->NewCommit(resume.offset, EncodeCommitMetadata(metadata))),
      "announcing the new owner");
}

}  // namespace

void PartitionProcessor::BeginShard() {
  shard_ = std::make_unique<engine::Shard>(rules_, options_.engine);
  stored_.Clear();
  replay_.Restart();
}

Status PartitionProcessor::Recover() {
  // Opening the committer fences the previous owner, so the state read below is final.
  ticks_.Start(clock_->Monotonic());
  RETURN_IF_ERROR(commits_.Open(log_));
  BeginShard();
  input_.Clear();
  end_.Restart();
  appended_rules_.clear();
  released_ = false;
  ASSIGN_OR_RETURN(ResumePoint resume, FindResumePoint(log_, options_.group, topic_));
  if (const Status same = CheckLog(log_, options_, topic_, resume); !same.ok()) {
    if (!absl::IsFailedPrecondition(same) || !reset_.Allows(same)) return same;
    RETURN_IF_ERROR(reset_.Accept(&resume, &commits_));
  } else if (reset_.AllowsSkip()) {
    RETURN_IF_ERROR(reset_.Accept(&resume, &commits_));
  }
  RETURN_IF_ERROR(Announce(options_.owner, resume, &commits_));
  initial_rules_ = resume.metadata.initial_rules;
  ASSIGN_OR_RETURN(const int64_t read_from, Restore(&resume));
  RETURN_IF_ERROR(input_.Open(log_, read_from, resume.metadata.applied));
  const MonotonicTime now = clock_->Monotonic();
  commits_.Begin(resume.committed ? resume.offset : read_from, now);
  end_.NoteRecovery(now);
  PITWALL_LOG(kInfo, "processor", "partition ", topic_.partition, ": committed offset ",
              commits_.committed_offset(), ", replaying from ", read_from,
              ", jobs restored: ", shard_->counters().restored_jobs);
  Publish();
  return OkStatus();
}

StatusOr<int64_t> PartitionProcessor::Restore(ResumePoint* resume) {
  replay_.SuppressBelow(0);
  if (!resume->committed) {
    // Records that precede the first start of any processor are evaluated with the desired rule
    // set, because a rule change can only be appended after those records.
    initial_rules_ = resume->log_end > resume->log_start ? shared_.wanted_rules() : "";
    RETURN_IF_ERROR(shard_->SetInitialRules(initial_rules_));
    shard_->StartAt(LogOffset(resume->log_start));
    return resume->log_start;
  }
  const auto restore = [&] {
    return StateRestorer(topic_.partition, *resume, shard_.get(), &stored_, &replay_)
        .Restore(log_, options_, initial_rules_);
  };
  StatusOr<int64_t> read_from = restore();
  if (const Status restored = read_from.status(); !restored.ok()) {
    if (!IsGone(restored) || !reset_.Allows(restored)) return WithRemedy(restored);
    BeginShard();
    RETURN_IF_ERROR(reset_.Accept(resume, &commits_));
    ASSIGN_OR_RETURN(read_from, restore());
  }
  replay_.SuppressBelow(resume->offset);
  return read_from;
}

}  // namespace pitwall::processor
