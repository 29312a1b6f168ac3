// Rows waiting for the watermark. Rows are copied on arrival and removed in RowKey order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/window/store/series_store.h"

namespace pitwall::window {

struct OpenRow {
  Position position;
  uint64_t sequence;
  uint32_t index;
  uint32_t plan;
  uint32_t source;  // index into names_ of OpenRows
  uint32_t boot_id;
  uint32_t chunk;  // index into chunks_ of OpenRows
  uint32_t offset;
  uint32_t cells;
};

// Buffer of open rows. Not thread-safe.
class OpenRows {
 public:
  void Add(const RowKey& key, uint32_t plan, std::span<const double> values);
  // Moves the rows with position <= upto into *taken, sorted by RowKey. Their values stay valid
  // until Release is called.
  void Take(Position upto, std::vector<OpenRow>* taken);
  const double* Values(const OpenRow& row) const {
    return chunks_[row.chunk].cells.get() + row.offset;
  }
  double* MutableValues(const OpenRow& row) { return chunks_[row.chunk].cells.get() + row.offset; }
  void Release(const OpenRow& row);
  // Removes unused names once there are many of them. Names accumulate because boot IDs change over
  // time. Call this after Release.
  void Tidy();
  void Clear();

  const std::vector<OpenRow>& rows() const { return rows_; }
  std::optional<Position> Oldest() const;
  size_t cells() const { return cells_; }
  // Memory that a row uses in addition to its values, in cells.
  static constexpr size_t kCellsOfARow = 10;
  size_t charge() const { return cells_ + kCellsOfARow * rows_.size(); }
  RowKey KeyOf(const OpenRow& row) const;
  size_t MemoryBytes() const;

 private:
  struct Chunk {
    std::unique_ptr<double[]> cells;
    size_t capacity = 0;
    size_t used = 0;
    size_t live = 0;  // number of rows that are stored in the chunk
  };

  double* Allocate(size_t cells, OpenRow* row);
  uint32_t NameId(std::string_view name);

  std::vector<OpenRow> rows_;
  Position oldest_ = Position::Max();  // lower bound of the positions in rows_
  size_t cells_ = 0;                   // number of cells in rows_
  std::vector<Chunk> chunks_;
  size_t current_ = SIZE_MAX;  // chunk that is being filled
  std::vector<std::string> names_;
  StringMap<uint32_t> name_ids_;
};

}  // namespace pitwall::window
