#include "services/window/tracks/track.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "services/base/check.h"
#include "services/window/panes/row_mapper.h"

namespace pitwall::window {

Track::Track(PaneGrid grid, bool with_stale, size_t packed_limit)
    : grid_(grid), with_stale_(with_stale), panes_(packed_limit) {}

size_t Track::AddWindow(Family family, const WindowPanes& panes, uint32_t max_ordered) {
  if (const std::optional<size_t> index = windows_.Find(family, panes)) return *index;
  PITWALL_CHECK(!started_);
  max_ordered_ = max_ordered;
  windows_.Add(family, panes, max_ordered);
  panes_.Replan(windows_.Plan(), windows_.OrderedLengths(), max_ordered);
  return windows_.size() - 1;
}

void Track::RetainWindows(const std::vector<bool>& used) {
  const auto kept = static_cast<size_t>(std::count(used.begin(), used.end(), true));
  if (kept == windows_.size()) return;
  windows_.Retain(used);
  panes_.Replan(windows_.Plan(), windows_.OrderedLengths(), max_ordered_);
  if (!started_) return;
  windows_.Rebuild(panes_, panes_.open_index());
  panes_.CountSamples();
  panes_.Trim(grid_, 2 * windows_.size());
}

void Track::AddColumns(size_t columns) {
  if (panes_.AddColumns(columns)) return;
  std::vector<uint32_t> keep(columns, UINT32_MAX);
  for (size_t i = 0; i < panes_.columns(); ++i) keep[i] = static_cast<uint32_t>(i);
  Remap(keep);
}

void Track::AdvanceTo(Position position) {
  const PaneIndex index = grid_.IndexOf(position);
  if (!started_) {
    started_ = true;
    panes_.SkipTo(index);
    windows_.Start(index);
  }
  while (panes_.open_index() < index) {
    if (panes_.empty()) {  // the empty panes in between can be skipped
      windows_.Skip(panes_.open_index(), index);
      panes_.SkipTo(index);
      return;
    }
    panes_.Close();
    windows_.Advance(panes_);
    panes_.Trim(grid_, 2 * windows_.size());
  }
}

bool Track::Read(size_t window, const WindowQuery& query, double* values, uint8_t* present) {
  const Position end = grid_.EndOf(panes_.open_index() - windows_.delay(window));
  PITWALL_CHECK(!started_ || end.ns() == query.context.range_end);
  const bool complete = !panes_.DroppedAfter(Position::FromNs(query.context.range_start));
  if (!started_ || !complete) {
    std::fill_n(present, panes_.columns(), uint8_t{0});
    return complete;
  }
  windows_.Read(window, query, panes_.huge(), panes_, values, present);
  return true;
}

void Track::Remap(const std::vector<uint32_t>& keep) {
  auto pool = std::make_unique<RowPool>(RowPool::CapacityFor(keep.size()));
  {
    RowMapper mapper(keep, panes_.columns(), panes_.pool(), *pool);
    windows_.Remap(mapper, keep);
    panes_.Remap(mapper, keep, std::move(pool));
  }
  if (!started_) return;
  windows_.RebuildOrdered(panes_, panes_.open_index());
  panes_.CountSamples();
}

void Track::Reset() {
  windows_.Reset();
  panes_.Reset();
  started_ = false;
}

void Track::Save(BinaryWriter& out) const {
  out.Bool(started_);
  if (!started_) return;
  out.U64(panes_.columns());
  panes_.Save(out);
  windows_.Save(out, PaneCodec(panes_.shape()));
}

void Track::Load(BinaryReader& in, size_t columns) {
  if (!in.Bool()) return;
  // A row takes at least 8 bytes per column, so no count read here can exceed the size of the data.
  // Series that joined since the last seal have no columns yet.
  const uint64_t saved = in.U64();
  if (saved > columns) {
    in.Fail();
    return;
  }
  SetColumns(static_cast<size_t>(saved));
  panes_.Load(in);
  if (!in.ok()) return;
  started_ = true;
  windows_.Start(panes_.open_index());
  windows_.Load(in, PaneCodec(panes_.shape()));
  if (!in.ok()) return;
  windows_.Rebuild(panes_, panes_.open_index());
  panes_.CountSamples();
}

size_t Track::MemoryBytes() const {
  return sizeof(Track) + panes_.MemoryBytes() + windows_.MemoryBytes();
}

}  // namespace pitwall::window
