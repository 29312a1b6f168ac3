// Committed state in memory, shared by all readers. A single lock covers all partitions so that a
// commit over several partitions becomes visible atomically.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

inline constexpr size_t kMaxGroupPositions = 1 << 17;
inline constexpr size_t kMaxCommitters = 1 << 17;

struct SegmentInfo {
  std::shared_ptr<Segment> segment;
  int64_t bytes = 0;          // committed size of the file
  int64_t last_time_ns = -1;  // newest append time, or -1 if unknown
  // The segment was appended and is intact, so the next commit may continue it if it is the last
  // segment.
  bool writable = false;
};

// Offsets that a repair gave up.
struct Lost {
  int64_t from = 0;
  int64_t to = 0;
  int64_t noted_ns = 0;
};

struct PartitionContent {
  std::vector<SegmentInfo> segments;  // ordered by base offset
  int64_t start_offset = 0;           // retention deleted earlier offsets
  std::vector<Lost> lost;             // ordered and disjoint
  int64_t end_offset = 0;
  int64_t last_time_ns = 0;
};

// Location of the next record for a reader at a given offset.
struct ReadView {
  enum class Kind {
    kSegment,
    kEnd,   // there is no record at or after the offset
    kGone,  // the offset no longer exists; `resume` is the next existing one
  };
  Kind kind = Kind::kEnd;
  std::shared_ptr<Segment> segment;
  int64_t limit = 0;        // committed bytes of the file
  int64_t segment_end = 0;  // first offset after the segment at the time of the view
  bool last = false;        // the segment may still grow
  int64_t resume = 0;
};

// Thread-safe. Partitions are never removed, so handles stay valid for the lifetime of the state.
class CommittedState {
 public:
  class Partition;  // opaque handle

  struct PartitionUpdate {
    Partition* partition = nullptr;
    int64_t end_offset = 0;
    int64_t last_time_ns = 0;
    int64_t last_segment_bytes = 0;         // size of the segment that is last after the update
    std::vector<SegmentInfo> new_segments;  // segments after the existing ones
    int64_t sealed_bytes = 0;  // final size of the previous last segment if `added` is not empty
    int64_t sealed_time_ns = -1;
  };
  struct Publication {
    std::vector<PartitionUpdate> partitions;
    std::vector<GroupPosition> positions;
    std::vector<CommitterEpoch> epochs;
  };

  CommittedState();
  ~CommittedState();

  Partition* Add(const PartitionKey& key, std::string name, std::string dir,
                 PartitionContent content);
  // Makes the whole publication visible atomically and wakes the waiters of its partitions.
  void Publish(const Publication& publication);

  // The following functions are for readers.
  ReadView View(const Partition* partition, int64_t offset) const;
  int64_t StartOffset(const Partition* partition) const;
  int64_t EndOffset(const Partition* partition) const;
  // Returns the end of the last lost range in [from, to), or `from` if there is no lost range.
  int64_t LostUntil(const Partition* partition, int64_t from, int64_t to) const;
  void AddWaiter(Partition* partition, Wakeup* wakeup);
  void RemoveWaiter(Partition* partition, Wakeup* wakeup);
  static const std::string& Name(const Partition* partition);  // "topic/3"
  static const std::string& Dir(const Partition* partition);
  static const PartitionKey& Key(const Partition* partition);

  // The following functions are for groups and committers.
  std::optional<CommittedOffset> Position(std::string_view group, const PartitionKey& key) const;
  uint64_t Epoch(std::string_view id) const;  // 0 if never opened
  // Returns ResourceExhausted if another group position or committer would exceed the limits.
  Status CheckRoom(const GroupPosition* position, std::string_view committer) const;

  // The following functions are for threads that change segments. The caller must hold the writer
  // lock or the maintenance lock.
  PartitionContent Content(const Partition* partition) const;
  // Removes the first segments up to and including `last`.
  void RemoveThrough(Partition* partition, const Segment* last);
  // Replaces the segments from `first` to `last` with `merged`.
  void Replace(Partition* partition, const Segment* first, const Segment* last, SegmentInfo merged);
  // ExpiredLost returns the lost ranges noted before the cut-off, and ForgetLost removes them.
  std::vector<LostRange> ExpiredLost(const Partition* partition, int64_t cutoff_ns) const;
  void ForgetLost(Partition* partition, const std::vector<LostRange>& ranges);
  void NoteTopic(const TopicFact& topic);
  void SetLastTime(Partition* partition, const Segment* segment, int64_t last_time_ns);

  // Returns the complete state as checkpoint frames.
  std::vector<Frame> Snapshot(uint64_t sequence) const;
  // Returns the number of files and of committed bytes of all partitions.
  std::pair<int64_t, int64_t> Totals() const;

 private:
  using PositionKey = std::tuple<std::string, PartitionKey>;

  void PublishPartition(const PartitionUpdate& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // Also guards the partitions that the handles point to, except their name, directory, and key,
  // which never change.
  std::map<PartitionKey, std::unique_ptr<Partition>> partitions_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, TopicFact> topics_ ABSL_GUARDED_BY(mutex_);
  std::map<PositionKey, CommittedOffset> positions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> epochs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::log
