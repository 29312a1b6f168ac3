#include "services/window/store/open_rows.h"

#include <algorithm>
#include <tuple>

namespace pitwall::window {
namespace {
constexpr size_t kChunkCells = size_t{1} << 15;
}  // namespace

uint32_t OpenRows::NameId(std::string_view name) {
  const auto it = name_ids_.find(name);
  if (it != name_ids_.end()) return it->second;
  const auto id = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  name_ids_.emplace(std::string(name), id);
  return id;
}

double* OpenRows::Allocate(size_t cells, OpenRow* row) {
  if (current_ == SIZE_MAX || chunks_[current_].used + cells > chunks_[current_].capacity) {
    // Reuses a chunk without live rows, or allocates a new one.
    size_t free_slot = SIZE_MAX;
    current_ = SIZE_MAX;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      Chunk& chunk = chunks_[i];
      if (chunk.live > 0) continue;
      if (chunk.capacity >= cells && current_ == SIZE_MAX) {
        chunk.used = 0;
        current_ = i;
      } else if (chunk.capacity == 0) {
        free_slot = i;
      } else {  // one spare chunk is kept, and others are freed
        chunk = Chunk();
        free_slot = i;
      }
    }
    if (current_ == SIZE_MAX) {
      if (free_slot == SIZE_MAX) {
        free_slot = chunks_.size();
        chunks_.emplace_back();
      }
      current_ = free_slot;
      Chunk& chunk = chunks_[current_];
      chunk.capacity = std::max(cells, kChunkCells);
      chunk.cells.reset(new double[chunk.capacity]);
      chunk.used = 0;
    }
  }
  Chunk& chunk = chunks_[current_];
  row->chunk = static_cast<uint32_t>(current_);
  row->offset = static_cast<uint32_t>(chunk.used);
  row->cells = static_cast<uint32_t>(cells);
  chunk.used += cells;
  ++chunk.live;
  return chunk.cells.get() + row->offset;
}

void OpenRows::Add(const RowKey& key, uint32_t plan, std::span<const double> values) {
  OpenRow row{key.position,
              key.sequence,
              key.index,
              plan,
              NameId(key.source),
              NameId(key.boot_id),
              0,
              0,
              0};
  std::copy(values.begin(), values.end(), Allocate(values.size(), &row));
  rows_.push_back(row);
  oldest_ = std::min(oldest_, key.position);
  cells_ += values.size();
}

void OpenRows::Take(Position upto, std::vector<OpenRow>* taken) {
  taken->clear();
  if (oldest_ > upto) return;
  const auto keep = std::partition(rows_.begin(), rows_.end(),
                                   [upto](const OpenRow& row) { return row.position > upto; });
  taken->assign(keep, rows_.end());
  rows_.erase(keep, rows_.end());
  oldest_ = Position::Max();
  for (const OpenRow& row : rows_) oldest_ = std::min(oldest_, row.position);
  const auto before = [this](const OpenRow& a, const OpenRow& b) {
    if (a.position != b.position) return a.position < b.position;
    if (a.source != b.source) return names_[a.source] < names_[b.source];
    if (a.boot_id != b.boot_id) return names_[a.boot_id] < names_[b.boot_id];
    return std::tie(a.sequence, a.index) < std::tie(b.sequence, b.index);
  };
  // Rows on the time clock arrive in order. Rows on the step clock are placed at their steps.
  if (!std::is_sorted(taken->begin(), taken->end(), before))
    std::sort(taken->begin(), taken->end(), before);
  for (const OpenRow& row : *taken) cells_ -= row.cells;
}

void OpenRows::Release(const OpenRow& row) {
  Chunk& chunk = chunks_[row.chunk];
  if (--chunk.live == 0) chunk.used = 0;
}

void OpenRows::Tidy() {
  if (names_.size() <= 1024 + 4 * rows_.size()) return;
  const std::vector<std::string> old = std::move(names_);
  names_.clear();
  name_ids_.clear();
  for (OpenRow& row : rows_) {
    row.source = NameId(old[row.source]);
    row.boot_id = NameId(old[row.boot_id]);
  }
}

void OpenRows::Clear() { *this = OpenRows(); }

std::optional<Position> OpenRows::Oldest() const {
  if (rows_.empty()) return std::nullopt;
  return oldest_;
}

RowKey OpenRows::KeyOf(const OpenRow& row) const {
  return {row.position, names_[row.source], names_[row.boot_id], row.sequence, row.index};
}

size_t OpenRows::MemoryBytes() const {
  size_t bytes = rows_.capacity() * sizeof(OpenRow);
  for (const Chunk& chunk : chunks_) bytes += chunk.capacity * sizeof(double);
  for (const std::string& name : names_) bytes += 2 * (sizeof(std::string) + name.capacity());
  return bytes;
}

}  // namespace pitwall::window
