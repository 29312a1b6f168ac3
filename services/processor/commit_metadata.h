// Metadata of a commit beside the input offset C. With it a start recognizes whether the state that
// it finds is the state that was written (docs/decisions/0015-detect-lost-state.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::processor {

// The jobs that have a snapshot and the offset S of each one's newest: how many, and a sum of
// hashes that any order of changes gives alike.
struct SnapshotSum {
  uint64_t jobs = 0;
  uint64_t digest = 0;

  void Add(std::string_view job, int64_t offset);
  void Remove(std::string_view job, int64_t offset);
  friend bool operator==(const SnapshotSum&, const SnapshotSum&) = default;
};

// The last input record that was applied: another record at its offset means another log.
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
  // Hash of the rule set of the records before the first change of rules; "": none.
  std::string initial_rules;
  std::string owner;  // who committed; "": not said, or it has stopped
};

std::string EncodeCommitMetadata(const CommitMetadata& metadata);
// DataLoss when it is of no version that is known.
StatusOr<CommitMetadata> ParseCommitMetadata(std::string_view text);

}  // namespace pitwall::processor
