// Windows of one job: sealed, in memory, or both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "services/base/status.h"
#include "services/history/job_overview.h"
#include "services/history/memtable/mem_table.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/windows/sequence_ranges.h"
#include "services/history/windows/span_list.h"

namespace pitwall::history {

struct WindowEntry {
  std::optional<SegmentMeta> sealed;
  std::unique_ptr<MemTable> head;            // null if all rows are sealed
  std::map<OriginKey, SequenceRanges> seen;  // batches with content in `head` or `sealed`
  int64_t first_offset = INT64_MAX;          // lowest log offset of the head's content
  int64_t head_since_ns = 0;                 // monotonic time
};

// Location of a record in the log.
struct RecordPlace {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
  int64_t now_ns = 0;  // monotonic time
};

// Cached position of one boot in WindowEntry::seen. Each batch needs it, and a lookup would compare
// long names with common prefixes.
struct SeenCursor {
  int64_t window_ns = INT64_MIN;   // window that `seen` belongs to
  SequenceRanges* seen = nullptr;  // null if not looked up yet
};

// Windows of one job, by start. The threading rules of StoredJob apply.
class JobWindows {
 public:
  // Restores a sealed window from the catalog.
  void Restore(SegmentMeta facts, std::map<OriginKey, SequenceRanges> seen);

  // Returns the window's rows in memory, or nullptr if all rows are sealed.
  MemTable* HeadOf(int64_t window_ns) const;
  // Calls `add`, which adds rows, spans, or heartbeats to the head.
  template <typename Add>
  void AddTo(MemTable* head, const Add& add) {
    const size_t bytes = head->bytes();
    add(head);
    head_bytes_ += head->bytes() - bytes;
  }

  // Replaces the window's head with the segment.
  void Seal(int64_t window_ns, SegmentMeta facts);
  // Moves the packed rows of the window's head into the file.
  Status MoveHead(int64_t window_ns, const std::shared_ptr<MemTableFile>& file);
  // Frees all windows. The version is kept.
  void Free();

  const std::map<int64_t, WindowEntry>& by_start() const { return windows_; }
  size_t head_bytes() const { return head_bytes_; }
  // Returns a number that increases when a window is sealed or its raw samples are dropped. Readers
  // of segments use it to detect changes.
  uint64_t version() const { return version_; }
  uint64_t disk_bytes() const;  // size of the segments
  // Sets the amount of stored data and the time of the oldest raw samples.
  void Fill(JobOverview* life) const;

 private:
  friend class BatchAdmission;

  std::map<int64_t, WindowEntry> windows_;
  size_t head_bytes_ = 0;
  uint64_t version_ = 0;
};

// Admits one batch to the windows that its rows belong to. Does not own its arguments.
class BatchAdmission {
 public:
  // `key` is the boot that sent the batch, and `cursor` belongs to this boot.
  BatchAdmission(JobWindows* windows, const OriginKey* key, SeenCursor* cursor, uint64_t sequence,
                 const RecordPlace& at)
      : windows_(*windows), key_(*key), cursor_(*cursor), sequence_(sequence), at_(at) {}

  // Returns the window's rows in memory. Returns nullptr if the batch is a duplicate or the window
  // accepts no rows.
  MemTable* Admit(int64_t window_ns);
  // Returns whether a window already contains the batch.
  bool duplicate() const { return duplicate_; }
  // Returns the number of windows that rejected the batch because their raw samples were dropped.
  uint64_t after_raw() const { return after_raw_; }

 private:
  MemTable* Enter(int64_t window_ns);

  JobWindows& windows_;
  const OriginKey& key_;
  SeenCursor& cursor_;
  const uint64_t sequence_;
  const RecordPlace at_;
  std::map<int64_t, MemTable*> admitted_;  // results of Admit
  bool duplicate_ = false;
  uint64_t after_raw_ = 0;
};

}  // namespace pitwall::history
