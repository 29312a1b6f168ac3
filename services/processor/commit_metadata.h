// Metadata stored in a commit next to the input offset C. At startup, it shows whether the stored
// state is the state that was written (docs/decisions/0015-detect-lost-state.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::processor {

// Summary of all jobs with a snapshot, and of the offset S of each newest snapshot. Consists of the
// number of jobs and an order-independent sum of hashes.
struct SnapshotSum {
  uint64_t jobs = 0;
  uint64_t digest = 0;

  void Add(std::string_view job, int64_t offset);
  void Remove(std::string_view job, int64_t offset);
  friend bool operator==(const SnapshotSum&, const SnapshotSum&) = default;
};

// Last applied input record. If the log has a different record at this offset, the log was
// replaced.
struct AppliedRecord {
  int64_t offset = -1;
  int64_t append_time_ns = 0;
  friend bool operator==(const AppliedRecord&, const AppliedRecord&) = default;
};

struct CommitMetadata {
  int64_t replay = 0;                    // L
  std::string rules;                     // hash of the rule set that is active at L
  std::optional<SnapshotSum> snapshots;  // nullopt if written by an older version
  // Nullopt if written by an older version, or before any record.
  std::optional<AppliedRecord> applied;
  // Hash of the rule set for the records before the first rule change, or "".
  std::string initial_rules;
  std::string owner;  // owner at the time of the commit; "": unknown, or the owner has stopped
};

std::string EncodeCommitMetadata(const CommitMetadata& metadata);
// Returns DataLoss if the version is unknown.
StatusOr<CommitMetadata> ParseCommitMetadata(std::string_view text);

}  // namespace pitwall::processor
