// Unsealed part of a window. Rows are kept in arrival order, and older rows are packed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/history/memtable/mem_table_heartbeats.h"
#include "services/history/memtable/packed_chunk.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// Snapshot of one table's rows. Packed rows are unpacked without holding a lock.
struct MemTablePart {
  std::vector<PackedChunkPtr> chunks;
  RowTable tail;  // contain the requested columns
  int64_t first_ns = 0;
  int64_t last_ns = 0;

  // Returns all rows, sorted. Returns Unavailable if the chunk file cannot be read.
  StatusOr<RowTable> Rows() const;
};

// Not thread-safe.
class MemTable {
 public:
  // Adds the frame's rows [from, to). The values in the frame must match the schema's columns.
  void AddRows(const OriginPtr& origin, const SharedSchema& schema, const Frame& frame, size_t from,
               size_t to, uint64_t sequence);
  void AddSpan(const OriginPtr& origin, const Span& span, uint64_t sequence);
  void AddHeartbeat(const Heartbeat& beat) { beats_.Add(beat); }

  // Appends the tables with the requested columns. Skips schemas without any of these columns.
  Status Copy(SeriesSet* set, std::vector<MemTablePart>* out) const;
  // Appends all tables without their values. This shows when a source sent each series. Includes
  // rows only if the source has several tables in the stream.
  void CopyTimes(std::vector<MemTablePart>* out) const;
  // Reads one table for sealing: all rows, sorted, with either all columns or none. Tables are
  // numbered in the order of their first rows. Returns Unavailable if the chunk file cannot be
  // read.
  enum class Values { kAll, kNone };
  StatusOr<RowTable> Rows(size_t table, Values values) const;
  size_t tables() const { return tables_.size(); }
  const OriginPtr& origin(size_t table) const { return tables_[table]->origin; }
  const SharedSchema& schema(size_t table) const { return tables_[table]->schema; }
  // Packs rows if the packed form is smaller, and moves all packed rows to the file. After an
  // error, the remaining rows stay in memory.
  Status MoveTo(const std::shared_ptr<MemTableFile>& file);
  const SpanList& spans() const { return spans_; }
  const MemTableHeartbeats& beats() const { return beats_; }
  const ModeNames& modes() const { return modes_; }
  size_t bytes() const { return bytes_ + spans_.bytes() + beats_.bytes(); }  // bytes in memory
  size_t movable_bytes() const;                  // part of bytes() that MoveTo would move
  uint64_t samples() const { return samples_; }  // received samples, excluding missing values
  int64_t least_start_ns() const { return least_start_ns_; }

 private:
  struct Table {
    OriginPtr origin;
    SharedSchema schema;
    std::vector<PackedChunkPtr> chunks;
    TailRows rows;  // rows that follow those in the chunks
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
  };
  void PackRows(Table* table);
  // Returns the table with the given columns. Without `rows`, it has no rows.
  static MemTablePart PartOf(const Table& table, std::vector<uint32_t> columns, bool rows = true);

  absl::flat_hash_map<std::pair<const Origin*, uint64_t>, std::unique_ptr<Table>> index_;
  std::vector<Table*> tables_;  // in the order of their first rows
  SpanList spans_;
  MemTableHeartbeats beats_;
  ModeNames modes_;
  size_t bytes_ = 1024;
  size_t packed_bytes_ = 0;
  uint64_t samples_ = 0;
  int64_t least_start_ns_ = INT64_MAX;
};

}  // namespace pitwall::history
