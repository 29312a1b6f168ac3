// Point where a new owner of a partition resumes: the last commit and the current log.
#pragma once

#include <cstdint>

#include "services/base/status.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition/partition_options.h"

namespace pitwall::processor {

// Start and end of the log, and the metadata of the last commit.
struct ResumePoint {
  bool committed = false;
  int64_t offset = 0;  // offset C
  CommitMetadata metadata;
  int64_t log_start = 0;
  int64_t log_end = 0;
};

StatusOr<ResumePoint> FindResumePoint(Log* log, const std::string& group,
                                      const TopicPartition& input);
// Returns FailedPrecondition if the log does not match the last commit.
Status CheckLog(Log* log, const PartitionOptions& options, const TopicPartition& input,
                const ResumePoint& resume);

// Returns true if the error means permanent data loss. An unavailable log returns a different code.
bool IsGone(const Status& status);
// Appends a suggested fix to an error that reports permanent data loss.
Status WithRemedy(Status status);

}  // namespace pitwall::processor
