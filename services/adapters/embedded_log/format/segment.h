// One segment file: its name, its open file, its sparse index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::log {

// What a file's name says. Appended segments are <base>.seg. The output of a compaction is
// <base>-<end>.<run>.seg and stands for everything in [base, end): files of an older run and
// appended ones in that range are left-overs.
struct SegmentName {
  int64_t base_offset = 0;
  int64_t end_offset = -1;  // compacted only
  uint64_t run = 0;         // compacted only

  bool compacted() const { return end_offset >= 0; }
  std::string FileName() const;
  static std::optional<SegmentName> Parse(std::string_view file_name);
};

// Thread-safe.
class Segment {
 public:
  Segment(const std::string& dir, const SegmentName& name);

  const SegmentName& name() const { return name_; }
  const std::string& path() const { return path_; }

  // The file for reading; readers of one segment share it, and it closes with the last. NotFound
  // when it is gone.
  StatusOr<std::shared_ptr<const files::File>> Open();
  // Keeps the file open as long as the segment is known: what a read-only log sees must not vanish
  // under a writer.
  Status Pin();

  // Position of the last known batch that begins at or before `offset` (or of the first batch of
  // all): scans the headers up to there when it has not been there yet. `limit`: the committed
  // size.
  StatusOr<int64_t> FindPosition(int64_t offset, int64_t limit);
  // The newest append time up to `limit`; -1 when there is no readable batch.
  StatusOr<int64_t> LastTime(int64_t limit);
  // A batch was appended at [from, to). Keeps the index whole where it already reaches `from`.
  void NoteAppend(int64_t from, int64_t to, int64_t base_offset, int64_t last_time_ns);

 private:
  struct IndexEntry {
    int64_t offset;
    int64_t position;
  };
  void NoteBatch(int64_t from, int64_t to, int64_t base_offset, int64_t last_time_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ScanTo(int64_t offset, int64_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<std::shared_ptr<const files::File>> OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SegmentName name_;
  const std::string path_;
  Mutex mutex_;
  std::weak_ptr<const files::File> file_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const files::File> pinned_ ABSL_GUARDED_BY(mutex_);
  std::vector<IndexEntry> index_ ABSL_GUARDED_BY(mutex_);  // one entry per kIndexStride bytes
  int64_t indexed_to_ ABSL_GUARDED_BY(mutex_);             // position of the first batch not seen
  int64_t indexed_offset_ ABSL_GUARDED_BY(mutex_) = -1;    // base of the last batch seen
  int64_t last_time_ns_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace pitwall::log
