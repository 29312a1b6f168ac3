#include "services/window/tracks/sliding_window.h"

#include <cmath>

#include "services/base/check.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {

SlidingWindow::SlidingWindow(Family family, size_t family_index, int64_t panes)
    : family_(family), family_index_(family_index), ops_(OpsOf(family)), panes_(panes) {
  const int64_t closed = panes - 1;
  if (closed < 1) return;
  // Short windows do not need the second level.
  constexpr int64_t kOneLevel = 12;
  block_ = closed <= kOneLevel
               ? closed
               : static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(closed))));
  blocks_ = closed / block_ - 1;
  tail_.resize(static_cast<size_t>(block_));
  if (blocks_ > 0) ring_.resize(static_cast<size_t>(blocks_ + 1));
}

Row SlidingWindow::Append(PaneSource& source, const Row& a, const Pane& pane) const {
  if (pane.form == PaneForm::kEmpty) return a;
  RowPool& pool = source.pool();
  if (pane.form == PaneForm::kDeep) return Merge(source, a, pane.deep->partials[family_index_]);
  Row out = pool.New(ops_.fields);
  const size_t n = source.columns();
  ops_.append(out.cells(), (a ? a : pool.Identity(ops_.fields)).cells(), pane.values.cells(),
              ops_.timed ? reinterpret_cast<const int64_t*>(pane.times.cells()) : nullptr,
              pool.capacity(), n, pane.present == n);
  return out;
}

Row SlidingWindow::Prepend(PaneSource& source, const Pane& pane, const Row& b) const {
  if (pane.form == PaneForm::kEmpty) return b;
  RowPool& pool = source.pool();
  if (pane.form == PaneForm::kDeep) return Merge(source, pane.deep->partials[family_index_], b);
  Row out = pool.New(ops_.fields);
  const size_t n = source.columns();
  ops_.prepend(out.cells(), pane.values.cells(),
               ops_.timed ? reinterpret_cast<const int64_t*>(pane.times.cells()) : nullptr,
               (b ? b : pool.Identity(ops_.fields)).cells(), pool.capacity(), n, pane.present == n);
  return out;
}

Row SlidingWindow::Merge(PaneSource& source, const Row& a, const Row& b) const {
  if (!a) return b;
  if (!b) return a;
  RowPool& pool = source.pool();
  Row out = pool.New(ops_.fields);
  ops_.merge(out.cells(), a.cells(), b.cells(), pool.capacity(), source.columns());
  return out;
}

Row& SlidingWindow::BlockSlot(int64_t block) {
  return ring_[static_cast<size_t>(FloorMod(block, blocks_ + 1))];
}

void SlidingWindow::Clear() {
  for (Row& row : tail_) row.reset();
  for (Row& row : ring_) row.reset();
  for (Row* row : {&back_, &run_, &head_, &next_}) row->reset();
  next_valid_ = false;
}

void SlidingWindow::Start(PaneIndex cursor) {
  Clear();
  cursor_ = cursor;
  if (panes_ > 1) {
    const PaneIndex left = cursor_ - panes_ + 1;
    head_is_run_ = FloorDiv(cursor_, block_) == FloorDiv(left, block_) + blocks_ + 1;
  }
}

void SlidingWindow::Skip(PaneIndex cursor) {
  Row prefix = panes_ == 0 ? std::move(run_) : Row();
  Start(cursor);
  run_ = std::move(prefix);
}

void SlidingWindow::Advance(PaneSource& source) {
  if (panes_ == 1) {  // the window consists only of the pane at the cursor
    next_.reset();
    next_valid_ = false;
    ++cursor_;
    return;
  }
  const Pane& pane = source.At(cursor_);
  Row next =
      next_valid_ && next_version_ == pane.version ? std::move(next_) : Append(source, run_, pane);
  next_.reset();
  next_valid_ = false;
  if (panes_ > 0 && !head_is_run_) head_ = Append(source, head_, pane);
  run_ = std::move(next);
  ++cursor_;
  if (panes_ == 0) return;

  if (FloorMod(cursor_, block_) == 0) {  // the cursor's block is complete
    if (blocks_ > 0)
      BlockSlot(FloorDiv(cursor_, block_) - 1) = head_is_run_ ? run_ : std::move(head_);
    head_.reset();
    head_is_run_ = false;
  }
  const PaneIndex left = cursor_ - panes_ + 1;
  const int64_t in_block = FloorMod(left, block_);
  if (in_block == 0) {
    EnterBlock(source, left);
  } else {
    tail_[static_cast<size_t>(in_block - 1)].reset();
  }
}

void SlidingWindow::EnterBlock(PaneSource& source, PaneIndex left) {
  const int64_t block = FloorDiv(left, block_);
  Row middle;
  if (blocks_ > 0) {
    const int64_t base = block + 1;
    if (FloorMod(base, blocks_) == 0) {  // flip: the next M blocks become the front
      Row suffix;
      for (int64_t b = base + blocks_ - 1; b >= base; --b) {
        suffix = Merge(source, BlockSlot(b), suffix);
        BlockSlot(b) = suffix;
      }
      back_.reset();
    } else {
      back_ = Merge(source, back_, BlockSlot(block + blocks_));
    }
    middle = Merge(source, BlockSlot(base), back_);
    BlockSlot(base).reset();
  }
  BuildTail(source, left, std::move(middle));
  run_ = std::move(head_);
  head_.reset();
  head_is_run_ = true;
}

void SlidingWindow::BuildTail(PaneSource& source, PaneIndex left, Row middle) {
  Row suffix = std::move(middle);
  const int64_t from = FloorMod(left, block_);
  for (int64_t j = block_ - 1; j >= from; --j) {
    suffix = Prepend(source, source.At(left + (j - from)), suffix);
    tail_[static_cast<size_t>(j)] = suffix;
  }
}

SlidingWindow::Halves SlidingWindow::Read(PaneSource& source) {
  const Pane& pane = source.At(cursor_);
  if (!next_valid_ || next_version_ != pane.version) {
    next_ = Append(source, run_, pane);
    next_valid_ = true;
    next_version_ = pane.version;
  }
  const Row* tail = nullptr;
  if (panes_ > 1) tail = &tail_[static_cast<size_t>(FloorMod(cursor_ - panes_ + 1, block_))];
  return {tail != nullptr && *tail ? tail : nullptr, next_ ? &next_ : nullptr};
}

// Repeats the merges of Advance in the same order for the panes that are still in the window.
void SlidingWindow::Rebuild(PaneSource& source, PaneIndex cursor) {
  Skip(cursor);
  if (panes_ < 2) return;
  const auto fold = [&](PaneIndex first, PaneIndex end) {
    Row sum;
    for (PaneIndex k = first; k < end; ++k) sum = Append(source, sum, source.At(k));
    return sum;
  };
  const PaneIndex left = cursor - panes_ + 1;
  const int64_t first_block = FloorDiv(left, block_);   // block L
  const int64_t run_block = first_block + blocks_ + 1;  // first block of the run
  const int64_t cursor_block = FloorDiv(cursor, block_);
  run_ = fold(PaneIndex(run_block * block_), cursor);
  if (!head_is_run_) head_ = fold(PaneIndex(cursor_block * block_), cursor);
  Row middle;
  if (blocks_ > 0) {
    for (int64_t b = first_block + 1; b < cursor_block; ++b) {
      BlockSlot(b) = fold(PaneIndex(b * block_), PaneIndex((b + 1) * block_));
    }
    const int64_t base = FloorDiv(first_block + 1, blocks_) * blocks_;  // first block of the front
    for (int64_t b = base + blocks_; b <= first_block + blocks_; ++b) {
      back_ = Merge(source, back_, BlockSlot(b));
    }
    Row suffix;
    for (int64_t b = base + blocks_ - 1; b > first_block; --b) {
      suffix = Merge(source, BlockSlot(b), suffix);
      BlockSlot(b) = suffix;
    }
    middle = Merge(source, BlockSlot(first_block + 1), back_);
    BlockSlot(first_block + 1).reset();
  }
  BuildTail(source, left, std::move(middle));
}

size_t SlidingWindow::RowsHeld() const {
  size_t rows = 0;
  for (const Row& row : tail_) rows += row ? 1 : 0;
  for (const Row& row : ring_) rows += row ? 1 : 0;
  for (const Row* row : {&back_, &run_, &head_, &next_}) rows += *row ? 1 : 0;
  return rows;
}

}  // namespace pitwall::window
