#include "services/processor/recovery/resume_point.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"
#include "services/io/topics.h"
#include "services/processor/snapshot_topic.h"

namespace pitwall::processor {

namespace {

// Returns a commit_lost error if there are snapshots but no commit.
Status CheckNoSnapshots(Log* log, const PartitionOptions& options, const TopicPartition& input,
                        const std::string& place) {
  ASSIGN_OR_RETURN(const SnapshotTopic state,
                   ReadSavedState(log, input.partition, INT64_MAX, options.snapshot_limits));
  if (state.sum.jobs == 0) return OkStatus();
  return FailedPrecondition(Cat("commit_lost: ", place, ": ", kStateTopic, " has snapshots of ",
                                state.sum.jobs, " jobs, but the group ", options.group,
                                " has no committed offset; ", kAcceptReset));
}

}  // namespace

bool IsGone(const Status& status) { return absl::IsDataLoss(status) || absl::IsNotFound(status); }

Status WithRemedy(Status status) {
  if (!IsGone(status)) return status;
  return Status(status.code(), Cat(ToStd(status.message()), "; or ", kDropState));
}

StatusOr<ResumePoint> FindResumePoint(Log* log, const std::string& group,
                                      const TopicPartition& input) {
  ResumePoint resume;
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log->Committed(group, input));
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader, log->OpenReader(input, kFromEnd));
  ASSIGN_OR_RETURN(resume.log_start, reader->StartOffset());
  ASSIGN_OR_RETURN(resume.log_end, reader->EndOffset());
  if (!committed.has_value()) return resume;
  resume.committed = true;
  resume.offset = committed->offset;
  ASSIGN_OR_RETURN(resume.metadata, ParseCommitMetadata(committed->metadata));
  resume.metadata.replay = std::min(resume.metadata.replay, resume.offset);
  return resume;
}

Status CheckLog(Log* log, const PartitionOptions& options, const TopicPartition& input,
                const ResumePoint& resume) {
  const std::string place = Cat(input.topic, " partition ", input.partition);
  if (!resume.committed) return CheckNoSnapshots(log, options, input, place);
  if (resume.log_end < resume.offset)
    return LogIsBehind(input, resume.log_end, resume.offset, kAcceptReset);
  // A replacement log may have grown beyond the previous end.
  const std::optional<AppliedRecord>& applied = resume.metadata.applied;
  if (!applied.has_value() || applied->offset < resume.log_start ||
      applied->offset >= resume.log_end)
    return OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader(input, applied->offset));
  std::vector<Record> records;
  if (Status status = reader->Poll(1, 1, Duration::Seconds(1), &records);
      !status.ok() && !absl::IsDataLoss(status))
    return status;
  if (records.empty() || records[0].offset != applied->offset ||
      records[0].append_time == applied->append_time)
    return OkStatus();
  return RecordWasReplaced(input, {applied->offset, applied->append_time}, records[0].append_time,
                           kAcceptReset);
}

}  // namespace pitwall::processor
