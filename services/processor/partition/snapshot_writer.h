// Transactions that write a partition's snapshots (time-model.md, section 6).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/engine/shard.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition/commit_pipeline.h"
#include "services/processor/partition/partition_options.h"
#include "services/processor/partition/stored_snapshots.h"

namespace pitwall::processor {

// Writer for a partition's snapshots. Each snapshot is written in a separate transaction. Not
// thread-safe.
class SnapshotWriter {
 public:
  // Returns the commit metadata, with `snapshots` as the summary of the stored snapshots.
  using MetadataOf = std::function<std::string(const SnapshotSum& snapshots)>;

  // All pointers and `options` must outlive this object.
  SnapshotWriter(int32_t partition, const PartitionOptions& options, CommitPipeline* commits,
                 StoredSnapshots* stored, MetadataOf metadata)
      : partition_(partition),
        options_(options),
        commits_(commits),
        stored_(stored),
        metadata_(std::move(metadata)) {}

  // Writes the snapshots of `jobs` at `next_offset`, the offset after the last applied record, and
  // deletes the snapshots that are no longer needed.
  Status Write(const std::vector<std::string>& jobs, int64_t next_offset, engine::Shard* shard);

 private:
  Status WriteJob(const std::string& job, int64_t next_offset, engine::Shard* shard);
  void Postpone(const std::string& job, const Status& why, engine::Shard* shard);
  Status DeleteForgotten(engine::Shard* shard);

  const int32_t partition_;
  const PartitionOptions& options_;
  CommitPipeline* const commits_;
  StoredSnapshots* const stored_;
  const MetadataOf metadata_;
};

}  // namespace pitwall::processor
