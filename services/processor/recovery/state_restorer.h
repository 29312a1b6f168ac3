// Restorer that loads a partition's jobs from the snapshots on pitwall.state (time-model.md,
// section 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/processor/partition/partition_options.h"
#include "services/processor/partition/stored_snapshots.h"
#include "services/processor/recovery/replay.h"
#include "services/processor/recovery/resume_point.h"
#include "services/processor/snapshot_topic.h"

namespace pitwall::processor {

// Single-use restorer for an empty shard. Determines the offset where the replay starts and the
// rule set that is active there.
class StateRestorer {
 public:
  // All references and pointers must outlive this object.
  StateRestorer(int32_t partition, const ResumePoint& resume, engine::Shard* shard,
                StoredSnapshots* stored, Replay* replay);

  // Restores the usable part of the saved state. `initial_rules` is the rule set for records before
  // the first rule change. Returns the replay's start offset.
  StatusOr<int64_t> Restore(Log* log, const PartitionOptions& options,
                            const std::string& initial_rules);

 private:
  // Restores a job from its newer snapshot, or from the older one if the newer one is unusable.
  // Returns false if no snapshot is usable.
  StatusOr<bool> RestoreJob(const std::string& job, SnapshotTopic::SavedJob* saved);
  // Loads a snapshot into the shard.
  Status Load(const std::string& job, const codec::Snapshot& snapshot);
  // Returns true if the log still contains all records that the job needs after its snapshot. Drops
  // the job otherwise.
  bool KeepJob(const std::string& job, const codec::Snapshot& snapshot);
  // Starts the replay at the beginning of the log because `lost` jobs have no usable snapshot, or
  // because the log no longer has required records.
  void RebuildLost(size_t lost, const std::string& initial_rules);

  const int32_t partition_;
  const ResumePoint& resume_;
  engine::Shard* const shard_;
  StoredSnapshots* const stored_;
  Replay* const replay_;
  // True if the stored snapshots match the commit's description exactly.
  bool intact_ = false;
  int64_t read_from_;  // offset at which the replay starts
  std::string rules_;  // rule set that is active at read_from_
};

}  // namespace pitwall::processor
