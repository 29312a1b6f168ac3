// The older panes of a long window's track, packed: blocks of 64 panes, column by column
// (cell_codec.h). A column costs what its samples cost, so one that came late costs nothing in the
// blocks before it. A block is unpacked when a window's end passes through it, and dropped again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/tracks/cell_codec.h"

namespace pitwall::window {

// Not thread-safe. Holds neither samples that ordered windows keep (their windows are short) nor
// columns beyond those that a block was packed with.
class PaneArchive {
 public:
  static constexpr int64_t kBlock = static_cast<int64_t>(kMaxCodedCells);

  // What the track is now: where unpacked panes find their place.
  struct Shape {
    RowPool& pool;
    size_t columns;
    const std::vector<Family>& families;  // of DeepPane::partials
  };

  bool empty() const { return blocks_.empty(); }
  // Pane index before which everything is archived (or was, and is gone). Means nothing when empty.
  int64_t end() const { return (first_ + static_cast<int64_t>(blocks_.size())) * kBlock; }
  // Packs panes `first`.. to the end of their block, which must be end() unless this is empty.
  void Push(int64_t first, std::span<Pane> panes, const Shape& shape);
  // Pane `index`, nullptr where nothing is held. Valid until two others were asked for or anything
  // else was called.
  const Pane* At(int64_t index, const Shape& shape);
  // `readers`: how many places of the archive are read side by side. Lets go of what was unpacked
  // and not read since the call before.
  void Forget(size_t readers);

  // Drops what is wholly before these pane indices: everything; positions; a family's partials.
  void Trim(int64_t all, int64_t times, const std::vector<Family>& families,
            const std::vector<int64_t>& partials);
  // Drops what no window of these families reads.
  void Retain(const std::vector<Family>& families, bool times);
  // Drops the oldest block. The index of its last pane.
  int64_t DropOldest();
  void Clear();
  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);

  // Panes with samples. Columns that went since are still counted.
  size_t nonempty() const { return nonempty_; }
  // Bytes of packed samples: a function of the samples, whatever the allocator does.
  size_t PackedBytes() const { return packed_bytes_; }
  size_t MemoryBytes() const;

  void Save(BinaryWriter& out) const;
  // Fails the reader for bytes that are no archive of `families` over at most `columns`, or that
  // lack positions of panes from `times` on.
  void Load(BinaryReader& in, const std::vector<Family>& families, size_t columns, int64_t times);

 private:
  enum class Part : uint8_t { kValues, kTimes, kScaled, kPartial };
  // One field of one kind of row.
  struct Strip {
    Part part = Part::kValues;
    Family family = Family::kSums;  // kScaled, kPartial
    uint8_t field = 0;
    uint64_t panes = 0;          // that have the row
    std::vector<uint32_t> ends;  // by column: of its code in `bytes`
    std::vector<uint8_t> bytes;
    size_t Size() const { return bytes.size() + ends.size() * sizeof(uint32_t); }
  };
  struct Block {
    uint64_t single = 0, deep = 0;  // panes of this form
    std::vector<Strip> strips;
  };
  struct Unpacked {
    int64_t block;
    uint64_t used;
    std::array<Pane, kMaxCodedCells> panes;
  };

  static uint32_t FieldsOf(Part part, Family family);
  static CellKind KindOf(const Strip& strip);
  static Row* RowOf(Pane& pane, Part part, size_t family_index);
  static Strip Pack(Part part, Family family, uint8_t field, std::span<Row*> rows, uint64_t panes,
                    const Shape& shape);
  static void Unpack(const Block& block, const Shape& shape, Unpacked* to);
  static bool IsSound(const Strip& strip);
  void PopFront();
  void DropStrips(Block* block, Part part, Family family);

  std::deque<Block> blocks_;
  int64_t first_ = 0;  // block number of blocks_.front()
  size_t nonempty_ = 0;
  size_t packed_bytes_ = 0;
  // A few, in order of their making.
  std::vector<std::unique_ptr<Unpacked>> unpacked_;
  size_t most_unpacked_ = 4;
  uint64_t round_ = 1;
};

}  // namespace pitwall::window
