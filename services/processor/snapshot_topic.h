// Snapshots of a partition on pitwall.state: two slots per job, each in chunks under the keys
// <partition>/<job>/<slot>/<chunk>.
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

// Keys of a job on the topic, and its current slot.
struct JobSlots {
  int newest = 1;
  int64_t offset = -1;  // S of the newest snapshot; -1: none is usable
  uint32_t chunks[2] = {0, 0};
};

std::string ChunkKey(int32_t partition, std::string_view job, int slot, uint32_t chunk);

struct SnapshotTopic {
  struct SavedJob {
    JobSlots slots;
    std::array<std::optional<codec::Snapshot>, 2> snapshots;  // by slot, still compressed
    // Returns the slot with the newer snapshot, or nothing.
    std::optional<int> Newer() const;
  };
  std::map<std::string, SavedJob, std::less<>> jobs;  // those with a key on the topic
  std::vector<std::string> damage;                    // the first few unreadable records
  SnapshotSum sum;                                    // of the newest ones
};

// Reads the whole partition of the topic. Ignores snapshots at offsets above `committed`.
StatusOr<SnapshotTopic> ReadSavedState(Log* log, int32_t partition, int64_t committed,
                                       const codec::SnapshotLimits& limits);

}  // namespace pitwall::processor
