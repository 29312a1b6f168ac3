// Metadata that each commit stores next to the input offset C. At startup, the processor uses it to
// check that the stored state is complete and unchanged (docs/decisions/0015-detect-lost-state.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall::processor {

// Summary of all jobs with a snapshot: the number of jobs, and an order-independent sum of one hash
// per job. The hash covers the job ID and the offset S of its newest snapshot.
struct SnapshotSum {
  uint64_t jobs = 0;
  uint64_t digest = 0;

  void Add(std::string_view job, int64_t offset);
  void Remove(std::string_view job, int64_t offset);
  friend bool operator==(const SnapshotSum&, const SnapshotSum&) = default;
};

// Last applied input record. If the log contains a different record at this offset, the log was
// replaced.
struct AppliedRecord {
  int64_t offset = -1;
  AppendTime append_time;
  friend bool operator==(const AppliedRecord&, const AppliedRecord&) = default;
};

struct CommitMetadata {
  int64_t replay = 0;                    // offset L, at which a replay starts
  std::string rules;                     // hash of the rule set that was active at offset L
  std::optional<SnapshotSum> snapshots;  // nullopt if an older version wrote the metadata
  // Nullopt if an older version wrote the metadata, or if no record has been applied yet.
  std::optional<AppliedRecord> applied;
  // Hash of the rule set that applies to the records before the first rule change, or "".
  std::string initial_rules;
  std::string owner;  // partition owner at the commit; "" if unknown or if the owner has stopped
};

std::string EncodeCommitMetadata(const CommitMetadata& metadata);
// Returns DataLoss if the version is unknown.
StatusOr<CommitMetadata> ParseCommitMetadata(std::string_view text);

}  // namespace pitwall::processor
