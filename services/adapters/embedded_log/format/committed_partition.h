// Committed content of one partition.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/format/checkpoint_frames.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/clock.h"

namespace pitwall::log {

struct SegmentInfo {
  std::shared_ptr<Segment> segment;
  int64_t bytes = 0;          // committed size of the file
  int64_t last_time_ns = -1;  // newest append time, or -1 if unknown
  // True if the segment is intact and not compacted. The next commit may then append to it if it is
  // the last segment.
  bool writable = false;
};

// Offsets that a repair declared lost.
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
  int64_t segment_end = 0;  // first offset after the segment when the view was created
  bool last = false;        // the segment may still grow
  int64_t resume = 0;
};

class CommittedPartition;

// Change to a partition made by one group commit.
struct PartitionUpdate {
  CommittedPartition* partition = nullptr;
  int64_t end_offset = 0;
  int64_t last_time_ns = 0;
  int64_t last_segment_bytes = 0;         // size of the last segment after the update
  std::vector<SegmentInfo> new_segments;  // segments that follow the existing ones
  int64_t sealed_bytes =
      0;  // final size of the previous last segment if `new_segments` is not empty
  int64_t sealed_time_ns = -1;
};

// Committed content of a partition and the readers waiting for more. Serves as a handle: its name,
// directory, and key never change. Only CommittedState uses the other functions, under its lock.
class CommittedPartition {
 public:
  CommittedPartition(const PartitionKey& key, std::string name, std::string dir,
                     PartitionContent content)
      : key_(key), name_(std::move(name)), dir_(std::move(dir)), content_(std::move(content)) {}

  const PartitionKey& key() const { return key_; }
  const std::string& name() const { return name_; }  // "topic/3"
  const std::string& dir() const { return dir_; }

 private:
  friend class CommittedState;

  void Apply(const PartitionUpdate& update);
  void Wake() const;

  ReadView View(int64_t offset) const;
  int64_t LostUntil(int64_t from, int64_t to) const;
  std::vector<LostRange> ExpiredLost(int64_t cutoff_ns) const;
  void ForgetLost(const std::vector<LostRange>& ranges);

  std::vector<SegmentInfo>::iterator Find(const Segment* segment);
  void RemoveThrough(const Segment* last);
  void Replace(const Segment* first, const Segment* last, SegmentInfo merged);
  void SetLastTime(const Segment* segment, int64_t last_time_ns);

  void AddTo(CheckpointFrames* frames) const;
  int64_t CountBytes() const;  // committed bytes of all segments

  const PartitionKey key_;
  const std::string name_;
  const std::string dir_;
  PartitionContent content_;
  std::vector<Wakeup*> waiters_;
};

}  // namespace pitwall::log
