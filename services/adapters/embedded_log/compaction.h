// Topic compaction. It keeps the newest record for each key, in the original order and at the
// original offsets.
#pragma once

#include <cstdint>
#include <memory>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"

namespace pitwall::log {

struct CompactionPolicy {
  int64_t segment_bytes = 0;  // target size of merged output files
  // Minimum share of dirty bytes in closed segments that triggers compaction.
  double dirty_share = 0.5;
  // Approximate memory limit for the keys in one compaction. At least one segment is always
  // processed.
  size_t map_bytes = 0;
  // Age after which a tombstone is dropped once no older record of its key remains.
  int64_t tombstone_cutoff_ns = 0;
  bool compress = true;
  std::shared_ptr<files::DiskFaults> faults;
};

// Compacts the closed segments of a partition once, but never the last segment. Returns the number
// of segments written, or 0 if there was nothing to do. The caller must hold the maintenance lock
// so that no other thread changes closed segments. Reads and appends continue. After a crash at any
// point, either the old files or the new files are valid.
StatusOr<int64_t> CompactPartition(const CompactionPolicy& policy, CommittedState* state,
                                   CommittedState::Partition* partition, CommitWriter* writer,
                                   DamageLog* damage);

}  // namespace pitwall::log
