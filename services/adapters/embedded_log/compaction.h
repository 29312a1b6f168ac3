// Compaction: of each key of a compacted topic the newest record stays, in its place in the order,
// with its offset.
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
  int64_t segment_bytes = 0;  // outputs are merged up to this
  double dirty_share = 0.5;   // a pass runs when this share of the closed bytes was never compacted
  size_t map_bytes =
      0;  // about how much memory the keys of one pass may take (one segment always may)
  int64_t tombstone_cutoff_ns =
      0;  // tombstones older than this go, once nothing older of their key is left
  bool compress = true;
  std::shared_ptr<files::DiskFaults> faults;
};

// One pass over the closed segments of a partition; the last one is never touched. Returns how many
// segments it wrote, 0 when there was nothing to do. The caller holds the maintenance lock: nobody
// else changes closed segments meanwhile. Readers and appends go on. A crash at any point leaves
// the old files or the new ones in force.
StatusOr<int64_t> CompactPartition(const CompactionPolicy& policy, CommittedState* state,
                                   CommittedState::Partition* partition, CommitWriter* writer,
                                   DamageLog* damage);

}  // namespace pitwall::log
