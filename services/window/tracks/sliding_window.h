// The state of one family over one sliding window: Two-Stacks in two levels, over all columns of a
// track at once.
//
// A window of N panes with the cursor at pane c (its newest, which may still grow) is [c - N + 1,
// c]. Panes before c are closed. Cut the line of panes into blocks of B ≈ sqrt(N), at absolute
// multiples. Let L be the block in which the window begins, and M the number of whole blocks that
// fit behind it at the moment when the window's left end enters L. At that moment
//     tail[j] = panes j.. of block L + blocks L+1..L+M      for each j, from right to left
// is computed; from then on only panes to the right of these are added, to
//     run     = the panes from block L+M+1 on, from left to right,
// and the window is tail[left end] + run + pane c. The M blocks are a sliding window over blocks,
// kept in the same way (front suffixes, computed when the left end is at a multiple of M blocks,
// and a back prefix). So
//  - a pane costs about three row operations and a read one more, whatever N,
//  - a window holds about 2 sqrt(N) rows besides the panes themselves, which all windows of the
//  track share,
//  - nothing is ever subtracted, and all cuts are at absolute multiples: the state is a function of
//  the panes in the
//    window (so Rebuild, used after Restore, gives the same bits), and what left the window left no
//    trace.
//
// With N = 0 the window is everything since the beginning: run alone.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

class SlidingWindow {
 public:
  // family_index: where the track's deep panes keep this family's partials.
  SlidingWindow(Family family, size_t family_index, int64_t panes);

  Family family() const { return family_; }
  int64_t panes() const { return panes_; }
  int64_t cursor() const { return cursor_; }

  // Puts the cursor at `cursor`, with nothing before it.
  void Start(int64_t cursor);
  // Pane cursor() is final; the cursor moves to the next.
  void Advance(PaneSource& source);
  // Puts the cursor at `cursor` with the state that the panes before it give. What N = 0 has run up
  // to stays as it is.
  void Rebuild(PaneSource& source, int64_t cursor);

  // The window is tail + head; either may be null.
  struct Halves {
    const Row* tail;
    const Row* head;
  };
  Halves Read(PaneSource& source);

  // Drops all rows, ahead of their pool's end.
  void Clear();
  // Each row becomes map(row): the same window over other columns.
  template <typename Map>
  void MapRows(Map& map) {
    for (Row& row : tail_) row = map(row);
    for (Row& row : ring_) row = map(row);
    for (Row* row : {&back_, &run_, &head_, &next_}) *row = map(*row);
  }
  // Puts the cursor at `cursor` when the source holds nothing at all.
  void Skip(int64_t cursor);
  // N = 0 only: the prefix, which no pane tells any more.
  Row& prefix() { return run_; }
  const Row& prefix() const { return run_; }
  size_t RowsHeld() const;

 private:
  Row Append(PaneSource& source, const Row& a, const Pane& pane) const;
  Row Prepend(PaneSource& source, const Pane& pane, const Row& b) const;
  Row Merge(PaneSource& source, const Row& a, const Row& b) const;
  void EnterBlock(PaneSource& source, int64_t block);
  void BuildTail(PaneSource& source, int64_t block, int64_t from, Row middle);
  Row& BlockSlot(int64_t block);

  Family family_;
  size_t family_index_;
  const FamilyOps& ops_;
  int64_t panes_;
  int64_t block_ = 1;   // B
  int64_t blocks_ = 0;  // M
  int64_t cursor_ = 0;

  std::vector<Row> tail_;  // [B]: of block L; those behind the left end are released
  std::vector<Row> ring_;  // [M + 1]: front suffixes, and closed blocks to come
  Row back_;               // blocks behind the front, in the middle
  Row run_;
  Row head_;                  // the block of the cursor, without pane c
  bool head_is_run_ = false;  // the two are equal: kept once, in run_
  Row next_;                  // run_ + pane c, as of the pane's version
  bool next_valid_ = false;
  uint64_t next_version_ = 0;
};

}  // namespace pitwall::window
