// Packed rows of an unsealed window, with up to 120 rows or 256 KiB per chunk. Most rows in memory
// are in chunks. Under memory pressure, chunks are moved to a file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// File to which chunks are moved. The file is unnamed, so it does not survive a crash. The next
// start rereads the log. Thread-safe.
class MemTableFile {
 public:
  // Returns ResourceExhausted if the disk is full.
  static StatusOr<std::shared_ptr<MemTableFile>> Create(
      const std::string& path, const std::shared_ptr<files::DiskFaults>& faults);
  // Appends the bytes and returns their offset.
  StatusOr<int64_t> Append(std::string_view bytes);
  StatusOr<std::string> Read(int64_t at, size_t size) const;
  int64_t size() const {
    MutexLock lock(&mutex_);
    return end_;
  }

 private:
  explicit MemTableFile(std::shared_ptr<files::File> file) : file_(std::move(file)) {}
  const std::shared_ptr<files::File> file_;
  mutable Mutex mutex_;
  int64_t end_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Rows in frame layout: row-major cells with `columns` values per row.
struct TailRows {
  struct Row {
    int64_t time, sequence, step, mode;
  };
  std::vector<Row> rows;
  std::vector<double> cells;
  size_t bytes() const {  // bytes of memory in use
    return rows.capacity() * sizeof(Row) + cells.capacity() * sizeof(double);
  }
  // Appends the values of the requested columns to `to`. Each row contains `width` values.
  void AppendTo(size_t width, RowTable* to) const;
};

// Packed rows. Immutable, so readers do not need a lock.
class PackedChunk {
 public:
  static StatusOr<std::shared_ptr<const PackedChunk>> Pack(const TailRows& rows, size_t width);
  // Returns a chunk with the same rows, stored in the file.
  StatusOr<std::shared_ptr<const PackedChunk>> MoveTo(
      const std::shared_ptr<MemTableFile>& file) const;
  // Appends all rows, with values for the columns in `to`.
  Status AppendTo(RowTable* to) const;
  size_t rows() const { return rows_; }
  size_t bytes() const { return bytes_; }  // bytes in memory
  bool in_file() const { return file_ != nullptr; }

 private:
  struct Piece {
    std::string bytes;  // empty if the piece is in the file
    int64_t at = 0;
    size_t size = 0;
  };
  PackedChunk() = default;
  StatusOr<std::string> BytesOf(const Piece& piece) const;

  size_t rows_ = 0;
  size_t width_ = 0;
  size_t columns_of_piece_ = 1;
  Piece ints_;                 // times, sequences, steps, and modes
  std::vector<Piece> values_;  // column-major; each piece has columns_of_piece_ columns
  std::shared_ptr<MemTableFile> file_;
  size_t bytes_ = 0;
};
using PackedChunkPtr = std::shared_ptr<const PackedChunk>;

}  // namespace pitwall::history
