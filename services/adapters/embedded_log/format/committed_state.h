// Committed state, in memory, for all readers. One lock over all partitions,
// so that a commit over several of them appears at once.
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
  int64_t last_time_ns = -1;  // newest append time; -1: not known yet
  bool writable = false;  // appended, whole: the next commit may go on in it when it is the last
};

// Offsets that a repair gave up.
struct Lost {
  int64_t from = 0;
  int64_t to = 0;
  int64_t noted_ns = 0;
};

struct PartitionContent {
  std::vector<SegmentInfo> segments;  // in order of their bases
  int64_t start_offset = 0;           // retention took what was before
  std::vector<Lost> lost;             // in order, apart
  int64_t end_offset = 0;
  int64_t last_time_ns = 0;
};

// Where a reader at some offset finds its next record.
struct ReadView {
  enum class Kind {
    kSegment,
    kEnd,   // nothing at or behind the offset
    kGone,  // not there any more; `resume` is the next offset that is
  };
  Kind kind = Kind::kEnd;
  std::shared_ptr<Segment> segment;
  int64_t limit = 0;        // committed bytes of the file
  int64_t segment_end = 0;  // first offset behind the segment, at this moment
  bool last = false;        // more may come to this segment
  int64_t resume = 0;
};

// Thread-safe. Partitions are never taken away, so handles stay good as long as the state.
class CommittedState {
 public:
  class Partition;  // opaque handle

  struct PartitionUpdate {
    Partition* partition = nullptr;
    int64_t end_offset = 0;
    int64_t last_time_ns = 0;
    int64_t last_segment_bytes = 0;         // of the segment that is last afterwards
    std::vector<SegmentInfo> new_segments;  // behind those that are there
    int64_t sealed_bytes = 0;  // of the one that was last before, when there are new ones
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
  // All of it becomes visible at one moment, and whoever waits for one of the partitions is woken.
  void Publish(const Publication& publication);

  // Readers.
  ReadView View(const Partition* partition, int64_t offset) const;
  int64_t StartOffset(const Partition* partition) const;
  int64_t EndOffset(const Partition* partition) const;
  // The end of the last lost offset in [from, to); `from` when none is lost there.
  int64_t LostUntil(const Partition* partition, int64_t from, int64_t to) const;
  void AddWaiter(Partition* partition, Wakeup* wakeup);
  void RemoveWaiter(Partition* partition, Wakeup* wakeup);
  static const std::string& Name(const Partition* partition);  // "topic/3"
  static const std::string& Dir(const Partition* partition);
  static const PartitionKey& Key(const Partition* partition);

  // Groups and committers.
  std::optional<CommittedOffset> Position(std::string_view group, const PartitionKey& key) const;
  uint64_t Epoch(std::string_view id) const;  // 0: never opened
  // ResourceExhausted when one more group position or committer is beyond the limits.
  Status CheckRoom(const GroupPosition* position, std::string_view committer) const;

  // Whoever changes segments (one thread at a time: the writer's or the maintenance's lock).
  PartitionContent Content(const Partition* partition) const;
  // Takes away the first segments up to and with `last`.
  void RemoveThrough(Partition* partition, const Segment* last);
  // Puts `merged` in the place of the segments from `first` to `last`.
  void Replace(Partition* partition, const Segment* first, const Segment* last, SegmentInfo merged);
  // Lost offsets that were noted before the cut-off are forgotten; what that takes from the
  // journal.
  std::vector<LostRange> ExpiredLost(const Partition* partition, int64_t cutoff_ns) const;
  void ForgetLost(Partition* partition, const std::vector<LostRange>& ranges);
  void NoteTopic(const TopicFact& topic);
  void SetLastTime(Partition* partition, const Segment* segment, int64_t last_time_ns);

  // All as frames of a checkpoint.
  std::vector<Frame> Snapshot(uint64_t sequence) const;
  // Files and committed bytes of all partitions.
  std::pair<int64_t, int64_t> Totals() const;

 private:
  using PositionKey = std::tuple<std::string, PartitionKey>;

  void PublishPartition(const PartitionUpdate& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // What the handles point to is guarded by mutex_ as well (but name, folder and key, which never
  // change).
  std::map<PartitionKey, std::unique_ptr<Partition>> partitions_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, TopicFact> topics_ ABSL_GUARDED_BY(mutex_);
  std::map<PositionKey, CommittedOffset> positions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> epochs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::log
