// Segment file, including its name, open file, and sparse index.
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

// Parsed file name. Appended segments are named <base>.seg. The output of a compaction is named
// <base>-<end>.<run>.seg and replaces all files in [base, end). Appended files and files of older
// runs in that range are leftovers.
struct SegmentName {
  int64_t base_offset = 0;
  int64_t end_offset = -1;  // only for compacted segments
  uint64_t run = 0;         // only for compacted segments

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

  // Returns the file for reading. Readers of a segment share the open file. It is closed when the
  // last reader releases it. Returns NotFound if the file no longer exists.
  StatusOr<std::shared_ptr<const files::File>> Open();
  // Keeps the file open while the segment exists, so that a read-only log can still read it after a
  // writer deletes it.
  Status Pin();

  // Returns the position of the last known batch that starts at or before `offset`, or of the first
  // batch if there is none. Scans the headers up to that offset if they are not indexed yet.
  // `limit` is the committed size.
  StatusOr<int64_t> FindPosition(int64_t offset, int64_t limit);
  // Returns the newest append time up to `limit`, or -1 if no batch is readable.
  StatusOr<int64_t> LastTime(int64_t limit);
  // Records an appended batch at [from, to). Extends the index if it already reaches `from`.
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
  int64_t indexed_to_ ABSL_GUARDED_BY(mutex_);             // position of the first unindexed batch
  int64_t indexed_offset_ ABSL_GUARDED_BY(mutex_) = -1;    // base offset of the last indexed batch
  int64_t last_time_ns_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace pitwall::log
