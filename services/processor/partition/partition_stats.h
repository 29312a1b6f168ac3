// Public state of a partition, for other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/time.h"
#include "services/engine/program/counters.h"

namespace pitwall::processor {

// Commits by this owner.
struct CommitStats {
  int64_t next_offset = 0;  // committed input offset
  uint64_t count = 0;
  // Time of the last commit, or of recovery if there has been no commit since. 0 before recovery.
  // Each clock tick is a commit, so an idle partition also commits.
  MonotonicTime last_commit;
  uint64_t failed = 0;
  uint64_t refused_outputs = 0;  // outputs dropped because the log permanently rejects them
};

// Records that the owner replayed or lost, and jobs that it rebuilt.
struct ReplayStats {
  uint64_t records_replayed = 0;  // records replayed at the last start
  uint64_t rebuilt_jobs = 0;  // jobs that had no snapshot at or after offset L at the last start
  uint64_t input_losses = 0;  // number of gaps in the input: records deleted before they were read
};

// Jobs in the partition.
struct JobStats {
  size_t count = 0;
  size_t in_grace = 0;  // jobs that are waiting for a restart after their attempt died
  size_t live_sources = 0;
  size_t history_lost = 0;  // jobs whose rules are in Error until their windows are full again
  size_t memory_bytes = 0;
};

// Consistent copy of a partition's public state as of the last commit.
struct PartitionStats {
  int32_t partition = 0;
  engine::EngineCounters counters;
  CommitStats commits;
  ReplayStats replay;
  JobStats jobs;
  int64_t end_offset = 0;  // end of the log when it was last read
  LogOffset replay_offset;
  // Last time at which the processor had committed all records in the log. Initially, the time of
  // this owner's recovery. 0 before recovery.
  MonotonicTime caught_up;
  bool standby = false;  // another processor owns the partition
  uint64_t snapshots = 0;
  bool paused = false;  // true if reading is paused because the memory budget is exhausted
  bool recovering = true;
  std::string trouble;        // problem of the running partition, or ""
  std::string rule_set_hash;  // hash of the active rule set

  // Returns true if this processor has recovered the partition and no other processor owns it.
  bool owned() const { return commits.last_commit != MonotonicTime() && !standby; }
};

}  // namespace pitwall::processor
