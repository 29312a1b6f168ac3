// State of one family over one sliding window, for all columns of a track at the same time. The
// algorithm is Two-Stacks in two levels.
//
// A window of N panes is [c - N + 1, c], where the cursor c is the newest pane, which may still
// grow. Panes before c are closed. The sequence of panes is cut into blocks of B ≈ sqrt(N) panes,
// at indexes that are multiples of B. Let L be the block that contains the window's left end, and M
// the number of whole blocks after it that fit into the window when the left end enters L. At that
// moment, the following is computed for each j, from right to left:
//     tail[j] = panes j.. of block L + blocks L+1..L+M
// After that, panes to the right of these blocks are added from left to right:
//     run     = the panes starting at block L+M+1
// The window is tail[left end] + run + pane c. The M blocks are themselves a sliding window
// over blocks and are kept in the same way: as front suffixes, computed when the left end is at a
// multiple of M blocks, and a back prefix. Therefore:
//  - A pane costs about three row operations and a read costs one more, for any N.
//  - A window keeps about 2 sqrt(N) rows in addition to the panes, which all windows of the track
//    share.
//  - Nothing is ever subtracted, and all cuts are at fixed indexes. The state depends only on the
//    panes in the window: Rebuild, used after Restore, gives the same bits, and panes that left the
//    window have no effect.
//
// With N = 0, the window contains everything since the start and consists of the run alone.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

class SlidingWindow {
 public:
  // `family_index` is the index of this family's partials in the track's deep panes.
  SlidingWindow(Family family, size_t family_index, int64_t panes);

  Family family() const { return family_; }
  int64_t panes() const { return panes_; }
  PaneIndex cursor() const { return cursor_; }

  // Sets the cursor, with no panes before it.
  void Start(PaneIndex cursor);
  // Moves the cursor to the next pane. The pane at the cursor must be final.
  void Advance(PaneSource& source);
  // Sets the cursor and computes the state from the panes before it. For N = 0, the accumulated run
  // is kept.
  void Rebuild(PaneSource& source, PaneIndex cursor);

  // The two parts of the window, tail + head. Either part may be null.
  struct Halves {
    const Row* tail;
    const Row* head;
  };
  Halves Read(PaneSource& source);

  // Drops all rows. Call this before their pool is destroyed.
  void Clear();
  // Replaces each row with map(row), for the same window over other columns.
  template <typename Map>
  void MapRows(Map& map) {
    for (Row& row : tail_) row = map(row);
    for (Row& row : ring_) row = map(row);
    for (Row* row : {&back_, &run_, &head_, &next_}) *row = map(*row);
  }
  // Sets the cursor when the source contains no panes.
  void Skip(PaneIndex cursor);
  // The prefix, which cannot be recomputed from panes. Only for N = 0.
  Row& prefix() { return run_; }
  const Row& prefix() const { return run_; }
  size_t RowsHeld() const;

 private:
  Row Append(PaneSource& source, const Row& a, const Pane& pane) const;
  Row Prepend(PaneSource& source, const Pane& pane, const Row& b) const;
  Row Merge(PaneSource& source, const Row& a, const Row& b) const;
  // Moves the left end to `left`, the first pane of a block.
  void EnterBlock(PaneSource& source, PaneIndex left);
  // Computes tail_ for the panes from `left` to the end of its block.
  void BuildTail(PaneSource& source, PaneIndex left, Row middle);
  Row& BlockSlot(int64_t block);

  Family family_;
  size_t family_index_;
  const FamilyOps& ops_;
  int64_t panes_;
  int64_t block_ = 1;   // panes per block (B)
  int64_t blocks_ = 0;  // whole blocks after the first block (M)
  PaneIndex cursor_;

  std::vector<Row> tail_;  // [B]: suffixes of block L; entries before the left end are released
  std::vector<Row> ring_;  // [M + 1]: front suffixes and later closed blocks
  Row back_;               // blocks after the front
  Row run_;
  Row head_;                  // the cursor's block without pane c
  bool head_is_run_ = false;  // head_ equals run_ and only run_ stores it
  Row next_;                  // run_ + pane c, at next_version_ of the pane
  bool next_valid_ = false;
  uint64_t next_version_ = 0;
};

}  // namespace pitwall::window
