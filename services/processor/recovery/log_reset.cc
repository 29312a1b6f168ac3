#include "services/processor/recovery/log_reset.h"
#include "services/io/partition_scan.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/processor/partition/stored_snapshots.h"
#include "services/processor/published_issues.h"
#include "services/processor/snapshot_topic.h"

namespace pitwall::processor {

namespace {

// Returns the lowest offset where processing may continue if the commit is lost. The lost offset C
// was at or above the offset S of every snapshot.
int64_t OffsetAfterSnapshots(const SnapshotTopic& state, const ResumePoint& resume) {
  int64_t from = resume.log_start;
  for (const auto& [job, saved] : state.jobs) from = std::max(from, saved.slots.offset);
  return std::min(from, resume.log_end);
}

// Returns the offset of the first record with an append time after `append_time`. Records
// appended no later than the last applied record count as processed. All later records are new.
StatusOr<int64_t> OffsetAfter(Log* log, const TopicPartition& input, AppendTime append_time,
                              int64_t log_end) {
  ASSIGN_OR_RETURN(PartitionScan scan, PartitionScan::Open(log, input, kFromStart));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr || record->offset >= log_end) break;
    if (record->append_time > append_time) return record->offset;
  }
  return log_end;
}

// Appends events that end the partition's published issues and rules.
Status AddEnds(Log* log, int32_t partition, std::vector<OutgoingRecord>* outputs) {
  ASSIGN_OR_RETURN(const PublishedIssues published, PublishedIssues::Read(log, partition));
  std::vector<IssueEvent> events;
  for (const std::string& job : published.Jobs()) {
    published.EndIssues(job, EventTime(), &events);
    published.StopRules(job, "the log was reset", &events);
  }
  for (const IssueEvent& event : events) outputs->push_back(IssueRecord(partition, event));
  return OkStatus();
}

}  // namespace

bool LogReset::Allows(const Status& why) const {
  if (!options_.accept_log_reset || used_) return false;
  PITWALL_LOG(kWarning, "processor", "partition ", input_.partition,
              ": log reset accepted: ", ToStd(why.message()));
  return true;
}

Status LogReset::NoteFault(int64_t offset, Status why) {
  fault_offset_ = offset;
  return fault_ = WithRemedy(std::move(why));
}

Status LogReset::Accept(ResumePoint* resume, CommitPipeline* commits) {
  ASSIGN_OR_RETURN(const SnapshotTopic state,
                   ReadSavedState(log_, input_.partition, INT64_MAX, options_.snapshot_limits));
  int64_t from = resume->log_start;
  CommitMetadata& metadata = resume->metadata;
  if (!resume->committed) {
    from = OffsetAfterSnapshots(state, *resume);
  } else if (metadata.applied.has_value()) {
    ASSIGN_OR_RETURN(from,
                     OffsetAfter(log_, input_, metadata.applied->append_time, resume->log_end));
  }
  // Recovery skips the record that stopped the replay and treats a missing rule set as empty.
  from = std::clamp(fault_offset_ + 1, from, std::max(from, resume->log_end));
  if (!metadata.rules.empty() && !rules_->Load(metadata.rules).ok()) metadata.rules.clear();
  Commit commit = commits->NewCommit(from, "");
  RETURN_IF_ERROR(AddEnds(log_, input_.partition, &commit.outputs));
  for (const auto& [job, saved] : state.jobs) {
    for (const int slot : {0, 1})
      DeleteChunks(input_.partition, job, saved.slots, slot, 0, &commit.outputs);
  }
  resume->committed = true;
  resume->offset = from;
  metadata.replay = from;
  metadata.snapshots = SnapshotSum();
  metadata.initial_rules.clear();
  metadata.applied.reset();
  metadata.owner = options_.owner;
  commit.metadata = EncodeCommitMetadata(metadata);
  RETURN_IF_ERROR(Annotate(commits->ApplyInRecovery(commit), "accepting the existing log"));
  used_ = true;
  fault_ = OkStatus();
  fault_offset_ = -1;
  return OkStatus();
}

}  // namespace pitwall::processor
