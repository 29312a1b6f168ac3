// Writer for one partition. It encodes records, starts new segments, and rolls back failed commits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/commit/dirty_files.h"
#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

struct SegmentPolicy {
  int64_t segment_bytes = 0;
  int64_t segment_ns = 0;
  bool compress = false;
  std::shared_ptr<files::DiskFaults> faults;
};

// Not thread-safe: guarded by the writer lock.
class PartitionWriter {
 public:
  // Continues after the committed `content`.
  PartitionWriter(const SegmentPolicy* policy, CommittedState::Partition* partition,
                  std::string dir, const PartitionContent& content);

  // State to restore after a failed commit.
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

  // Appends the records. Adds the new end and any closed segment to `frame`. After an error, the
  // caller must roll back.
  Status Write(const std::vector<const OutgoingRecord*>& records, int64_t now_ns,
               BatchBuilder* builder, DirtyFiles* dirty, Frame* frame);
  // Rejects writes with `status` while earlier records cannot be flushed. OK allows writes again.
  void Suspend(const Status& status) { suspended_ = status; }
  const Status& suspended() const { return suspended_; }

  // Returns the changes since the last Publish. The caller makes them visible to readers after the
  // journal covers them.
  PartitionUpdate Publish();

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

  std::shared_ptr<Segment> segment_;   // null until the next write creates one
  std::shared_ptr<files::File> file_;  // opened for writing when needed
  int64_t bytes_ = 0;                  // end of the bytes that were written and not rolled back
  int64_t first_time_ns_ = -1;         // append time of the segment's first record
  int64_t next_offset_ = 0;
  int64_t last_time_ns_ = 0;
  Status suspended_;
  bool dirty_tail_ = false;  // bytes of a failed commit may follow bytes_

  std::vector<SegmentInfo> new_segments_;  // since the last Publish
  std::vector<Append> appends_;            // since the last Publish
  int64_t sealed_bytes_ = 0;  // final size of the last published segment if new segments follow
  int64_t sealed_time_ns_ = -1;
  std::string buffer_;
  int64_t bytes_written_ = 0;
};

}  // namespace pitwall::log
