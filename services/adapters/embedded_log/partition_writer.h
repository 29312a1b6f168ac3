// Writes the records of one partition: encodes, rolls segments, and takes back what a failed commit
// left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

// What must be flushed before the commits that were written are on the disk.
struct DirtyFiles {
  struct Entry {
    std::shared_ptr<files::File> file;
    CommittedState::Partition* partition = nullptr;
    int64_t from = 0;  // what is before it was flushed before
  };
  std::map<const files::File*, Entry> files;
  // Folders, open: a flush must not need a descriptor.
  std::map<CommittedState::Partition*, std::shared_ptr<files::Directory>> directories;
  bool empty() const { return files.empty() && directories.empty(); }
  void clear() {
    files.clear();
    directories.clear();
  }
  void Add(const std::shared_ptr<files::File>& file, CommittedState::Partition* partition,
           int64_t from) {
    files.try_emplace(file.get(), Entry{file, partition, from});
  }
  void Add(const DirtyFiles& others) {
    for (const auto& [key, entry] : others.files) {
      const auto [slot, added] = files.try_emplace(key, entry);
      if (!added) slot->second.from = std::min(slot->second.from, entry.from);
    }
    directories.insert(others.directories.begin(), others.directories.end());
  }
};

struct SegmentPolicy {
  int64_t segment_bytes = 0;
  int64_t segment_ns = 0;
  bool compress = false;
  std::shared_ptr<files::DiskFaults> faults;
};

// Not thread-safe: the writer's lock guards it.
class PartitionWriter {
 public:
  // Goes on behind `content`, what is committed.
  PartitionWriter(const SegmentPolicy* policy, CommittedState::Partition* partition,
                  std::string dir, const PartitionContent& content);

  // A place to come back to.
  struct Mark {
    std::shared_ptr<Segment> segment;
    int64_t bytes = 0;
    int64_t first_time_ns = -1;
    int64_t next_offset = 0;
    int64_t last_time_ns = 0;
    size_t new_segments = 0;
    size_t appends = 0;
  };
  Mark mark() const;
  // Undoes everything since `mark`.
  void Rollback(const Mark& mark);

  // Writes the records behind what is there. Adds to `frame` where they end, and the segment that
  // was closed. On error the caller rolls back.
  Status Write(const std::vector<const OutgoingRecord*>& records, int64_t now_ns,
               BatchBuilder* builder, DirtyFiles* dirty, Frame* frame);
  // While records of it cannot be flushed nothing is written; OK: goes on.
  void Suspend(const Status& status) { suspended_ = status; }
  const Status& suspended() const { return suspended_; }

  // What was written since the last Publish: for readers, once the journal covers it.
  CommittedState::PartitionUpdate Publish();

  CommittedState::Partition* partition() const { return partition_; }
  int64_t bytes_written() const { return bytes_written_; }

 private:
  struct Append {
    std::shared_ptr<Segment> segment;
    int64_t from = 0;
    int64_t to = 0;
    int64_t base_offset = 0;
    int64_t last_time_ns = 0;
  };
  Status OpenForWriting();
  Status Roll(DirtyFiles* dirty, Frame* frame);
  Status Flush();

  const SegmentPolicy* const policy_;
  CommittedState::Partition* const partition_;
  const std::string dir_;

  std::shared_ptr<Segment> segment_;   // nullptr: the next write makes one
  std::shared_ptr<files::File> file_;  // open for writing when needed
  int64_t bytes_ = 0;                  // end of what is written and not taken back
  int64_t first_time_ns_ = -1;         // of the segment's first record
  int64_t next_offset_ = 0;
  int64_t last_time_ns_ = 0;
  Status suspended_;
  bool dirty_tail_ = false;  // bytes of a failed commit may lie behind bytes_

  std::vector<SegmentInfo> new_segments_;  // since the last Publish
  std::vector<Append> appends_;            // since the last Publish
  int64_t sealed_bytes_ = 0;               // of the published last segment, when new ones follow
  int64_t sealed_time_ns_ = -1;
  std::string buffer_;
  int64_t bytes_written_ = 0;
};

}  // namespace pitwall::log
