// Snapshots of a partition on pitwall.state. Each job has two slots. Each slot consists of chunks
// with the keys <partition>/<job>/<slot>/<chunk>.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/codec/snapshot_codec.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"

namespace pitwall::processor {

// Current slot of a job, and the number of chunks in each slot on the topic.
struct JobSlots {
  int newest = 1;
  int64_t offset = -1;  // offset S of the newest snapshot; -1 if no snapshot is usable
  uint32_t chunks[2] = {0, 0};
};

std::string ChunkKey(int32_t partition, std::string_view job, int slot, uint32_t chunk);

struct SnapshotTopic {
  struct SavedJob {
    JobSlots slots;
    std::array<std::optional<codec::Snapshot>, 2> snapshots;  // by slot; still compressed
    // Returns the slot with the newer snapshot, or nullopt if both are empty.
    std::optional<int> Newer() const;
  };
  std::map<std::string, SavedJob, std::less<>> jobs;  // jobs with at least one key on the topic
  std::vector<std::string> damage;  // descriptions of the first few unreadable records
  SnapshotSum sum;                  // sum over the newest snapshots
};

// Reads the pitwall.state partition from start to end. Ignores snapshots at offsets above
// `committed`.
StatusOr<SnapshotTopic> ReadSavedState(Log* log, int32_t partition, int64_t committed,
                                       const codec::SnapshotLimits& limits);

}  // namespace pitwall::processor
