// Metadata of a commit next to the input offset C. At startup, it shows whether the state found is
// the state that was written (docs/decisions/0015-detect-lost-state.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::processor {

// Summary of the jobs with a snapshot and the offset S of their newest: the number of jobs, and a
// sum of hashes that does not depend on their order.
struct SnapshotSum {
  uint64_t jobs = 0;
  uint64_t digest = 0;

  void Add(std::string_view job, int64_t offset);
  void Remove(std::string_view job, int64_t offset);
  friend bool operator==(const SnapshotSum&, const SnapshotSum&) = default;
};

// The last applied input record: a different record at its offset means another log.
struct AppliedRecord {
  int64_t offset = -1;
  int64_t append_time_ns = 0;
  friend bool operator==(const AppliedRecord&, const AppliedRecord&) = default;
};

struct CommitMetadata {
  int64_t replay = 0;                    // L
  std::string rules;                     // hash of the rule set in force at L
  std::optional<SnapshotSum> snapshots;  // nothing: written by an older version
  std::optional<AppliedRecord> applied;  // nothing: an older version, or no record yet
  // Hash of the rule set of the records before the first change of rules, or "".
  std::string initial_rules;
  std::string owner;  // owner at the commit; "": unknown, or it has stopped
};

std::string EncodeCommitMetadata(const CommitMetadata& metadata);
// DataLoss: unknown version.
StatusOr<CommitMetadata> ParseCommitMetadata(std::string_view text);

}  // namespace pitwall::processor
