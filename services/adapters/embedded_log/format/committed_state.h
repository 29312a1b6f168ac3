// Committed state in memory, shared by all readers. A single lock covers all partitions so that a
// commit to several partitions becomes visible atomically.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_groups.h"
#include "services/adapters/embedded_log/format/committed_partition.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

// Thread-safe. Partitions are never removed, so handles stay valid for the lifetime of the state.
class CommittedState {
 public:
  using Partition = CommittedPartition;

  struct Publication {
    std::vector<PartitionUpdate> partitions;
    std::vector<GroupPosition> positions;
    std::vector<CommitterEpoch> epochs;
  };

  Partition* Add(const PartitionKey& key, std::string name, std::string dir,
                 PartitionContent content);
  // Makes the entire publication visible atomically and wakes all waiters on its partitions.
  void Publish(const Publication& publication);

  // The following functions are for readers.
  ReadView View(const Partition* partition, int64_t offset) const;
  int64_t StartOffset(const Partition* partition) const;
  int64_t EndOffset(const Partition* partition) const;
  // Returns the end of the last lost range in [from, to), or `from` if there is no lost range.
  int64_t LostUntil(const Partition* partition, int64_t from, int64_t to) const;
  void AddWaiter(Partition* partition, Wakeup* wakeup);
  void RemoveWaiter(Partition* partition, Wakeup* wakeup);

  // The following functions are for groups and committers.
  std::optional<CommittedOffset> Position(std::string_view group, const PartitionKey& key) const;
  uint64_t Epoch(std::string_view id) const;  // 0 if never opened
  // Returns ResourceExhausted if another group position or committer would exceed the limits.
  Status CheckRoom(const GroupPosition* position, std::string_view committer) const;

  // The following functions are for threads that change segments. The caller must hold the writer
  // lock or the maintenance lock.
  PartitionContent Content(const Partition* partition) const;
  // Removes all segments up to and including `last`.
  void RemoveThrough(Partition* partition, const Segment* last);
  // Replaces the segments from `first` to `last` with `merged`.
  void Replace(Partition* partition, const Segment* first, const Segment* last, SegmentInfo merged);
  // ExpiredLost returns the lost ranges recorded before the cutoff, and ForgetLost removes them.
  std::vector<LostRange> ExpiredLost(const Partition* partition, int64_t cutoff_ns) const;
  void ForgetLost(Partition* partition, const std::vector<LostRange>& ranges);
  void NoteTopic(const TopicFact& topic);
  void SetLastTime(Partition* partition, const Segment* segment, int64_t last_time_ns);

  // Returns the complete state as checkpoint frames.
  std::vector<Frame> Snapshot(uint64_t sequence) const;
  // Returns the number of files and committed bytes in all partitions.
  std::pair<int64_t, int64_t> Totals() const;

 private:
  mutable Mutex mutex_;
  // Also guards the partitions that the handles point to, except for their name, directory, and
  // key, which never change.
  std::map<PartitionKey, std::unique_ptr<Partition>> partitions_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, TopicFact> topics_ ABSL_GUARDED_BY(mutex_);
  CommittedGroups groups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::log
