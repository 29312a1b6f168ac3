// Content of a window that is sealed: its rows in memory, and those of an earlier segment. A table
// is unpacked when it is its turn, so that a window is never in memory as a whole.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "services/history/memtable/mem_table.h"
#include "services/history/segments/window_segment.h"

namespace pitwall::history {

// Not thread-safe: whoever may change the head is who has it sealed.
class FlushInput {
 public:
  // Rows of one origin with one schema.
  struct Table {
    OriginPtr origin;
    SharedSchema schema{Schema()};
    size_t sealed = SIZE_MAX;   // number in the segment; SIZE_MAX: not there
    std::vector<size_t> heads;  // numbers in the head
  };

  // `head` and `sealed` may be null. `head` and `seen` must outlive it.
  static StatusOr<std::unique_ptr<const FlushInput>> Of(
      const MemTable* head, std::shared_ptr<const WindowSegment> sealed,
      const std::map<OriginKey, SequenceRanges>* seen);
  FlushInput(const FlushInput&) = delete;  // lists of spans refer to it
  FlushInput& operator=(const FlushInput&) = delete;

  // By (source, boot, stream, schema).
  const std::vector<Table>& tables() const { return tables_; }
  // All rows of the table, sorted, with all columns and the modes of this window. DataLoss: the
  // segment is damaged; Unavailable: the head's file cannot be read.
  StatusOr<RowTable> Read(const Table& table) const;
  const ModeNames& modes() const { return modes_; }
  const SpanLists& spans() const { return spans_; }
  // By (source, boot, promise, sequence). DataLoss: the segment is damaged.
  StatusOr<std::vector<Heartbeat>> ReadHeartbeats() const;
  // Batches of which it holds something.
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
  std::vector<int64_t> modes_of_head_;  // by the head's numbers
  SpanList sealed_spans_;
  const SpanLists spans_;
};

}  // namespace pitwall::history
