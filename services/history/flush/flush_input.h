// Contents of a window to be sealed: the rows in memory and the rows in an earlier segment. Tables
// are unpacked one at a time, so a whole window is never in memory at once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "services/history/memtable/mem_table.h"
#include "services/history/segments/window_segment.h"

namespace pitwall::history {

// Not thread-safe. The caller must own the head exclusively.
class FlushInput {
 public:
  // Rows from one origin with one schema.
  struct Table {
    OriginPtr origin;
    SharedSchema schema{Schema()};
    size_t sealed = SIZE_MAX;   // table number in the segment; SIZE_MAX if absent
    std::vector<size_t> heads;  // table numbers in the head
  };

  // `head` and `sealed` may be null. `head` and `seen` must outlive the result.
  static StatusOr<std::unique_ptr<const FlushInput>> Of(
      const MemTable* head, std::shared_ptr<const WindowSegment> sealed,
      const std::map<OriginKey, SequenceRanges>* seen);
  FlushInput(const FlushInput&) = delete;  // span lists contain pointers into this object
  FlushInput& operator=(const FlushInput&) = delete;

  // Returns the tables sorted by (source, boot, stream, schema).
  const std::vector<Table>& tables() const { return tables_; }
  // Returns all rows of the table, sorted, with all columns and the modes of this window. Returns
  // DataLoss if the segment is damaged, and Unavailable if the head's file cannot be read.
  StatusOr<RowTable> Read(const Table& table) const;
  const ModeNames& modes() const { return modes_; }
  const SpanLists& spans() const { return spans_; }
  // Returns the heartbeats sorted by (source, boot, promise, sequence). Returns DataLoss if the
  // segment is damaged.
  StatusOr<std::vector<Heartbeat>> ReadHeartbeats() const;
  // Returns the sequence numbers of the batches that have content in this window.
  const std::map<OriginKey, SequenceRanges>& seen() const { return seen_; }

 private:
  FlushInput(const MemTable* head, std::shared_ptr<const WindowSegment> sealed,
             const std::map<OriginKey, SequenceRanges>* seen);
  void FindTables();
  Status FindModes();

  const MemTable* const head_;
  const std::shared_ptr<const WindowSegment> sealed_;
  const std::map<OriginKey, SequenceRanges>& seen_;
  std::vector<Table> tables_;
  ModeNames modes_;
  std::vector<int64_t> modes_of_head_;  // indexed by the head's mode numbers
  SpanList sealed_spans_;
  const SpanLists spans_;
};

}  // namespace pitwall::history
