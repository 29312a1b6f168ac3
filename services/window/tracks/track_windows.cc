#include "services/window/tracks/track_windows.h"

#include <algorithm>
#include <utility>

#include "services/model/windows/pane_grid.h"
#include "services/window/tracks/average_rescue.h"

namespace pitwall::window {

std::optional<size_t> TrackWindows::Find(Family family, const WindowPanes& panes) const {
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Window& w = windows_[i];
    if (w.family == family && w.panes == panes) return i;
  }
  return std::nullopt;
}

void TrackWindows::Add(Family family, const WindowPanes& panes, uint32_t max_samples) {
  windows_.push_back({family, panes, max_samples, nullptr, nullptr});
  if (family == Family::kOrdered) {
    windows_.back().ordered = std::make_unique<OrderedWindow>(panes.count, max_samples);
  } else {
    windows_.back().sliding =
        std::make_unique<SlidingWindow>(family, Plan().IndexOf(family), panes.count);
  }
}

PanePlan TrackWindows::Plan() const {
  PanePlan plan;
  for (const Window& w : windows_) plan.Add(w.family, w.panes.Reach());
  return plan;
}

std::vector<int64_t> TrackWindows::OrderedLengths() const {
  std::vector<int64_t> lengths;
  for (const Window& w : windows_) {
    if (w.ordered) lengths.push_back(w.panes.count);
  }
  return lengths;
}

void TrackWindows::Retain(const std::vector<bool>& used) {
  std::vector<Window> kept;
  for (size_t i = 0; i < windows_.size(); ++i) {
    if (i < used.size() && used[i]) kept.push_back(std::move(windows_[i]));
  }
  windows_ = std::move(kept);
  const PanePlan plan = Plan();
  for (Window& w : windows_) {
    if (w.sliding == nullptr) continue;
    const PaneIndex cursor = w.sliding->cursor();
    Row prefix = w.panes.count == 0 ? w.sliding->prefix() : Row();
    w.sliding = std::make_unique<SlidingWindow>(w.family, plan.IndexOf(w.family), w.panes.count);
    w.sliding->Start(cursor);
    w.sliding->prefix() = std::move(prefix);
  }
}

bool TrackWindows::AnyOverflow(size_t window) const {
  const Window& w = windows_[window];
  return w.ordered != nullptr && w.ordered->AnyOverflow();
}

void TrackWindows::Start(PaneIndex open) {
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Start(open - w.panes.delay);
    if (w.ordered) w.ordered->Start(open - w.panes.delay);
  }
}

void TrackWindows::Advance(PaneSource& source) {
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Advance(source);
    if (w.ordered) w.ordered->Advance(source);
  }
}

void TrackWindows::Skip(PaneIndex from, PaneIndex open) {
  for (Window& w : windows_) {
    const PaneIndex cursor = open - w.panes.delay;
    if (w.sliding) w.sliding->Skip(cursor);
    if (w.ordered == nullptr) continue;
    w.ordered->Start(cursor);
    if (FloorDiv(cursor, w.panes.count) > FloorDiv(from - w.panes.delay, w.panes.count))
      w.ordered->ForgetOverflows();
  }
}

void TrackWindows::Rebuild(PaneSource& source, PaneIndex open) {
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Rebuild(source, open - w.panes.delay);
  }
  RebuildOrdered(source, open);
}

void TrackWindows::RebuildOrdered(PaneSource& source, PaneIndex open) {
  for (Window& w : windows_) {
    if (w.ordered) w.ordered->Rebuild(source, open - w.panes.delay);
  }
}

void TrackWindows::Remap(RowMapper& mapper, const std::vector<uint32_t>& keep) {
  // Columns are independent of each other, so the rows remain valid for the remaining columns.
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->MapRows(mapper);
    if (w.ordered) w.ordered->Remap(keep);
  }
}

void TrackWindows::Reset() {
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Clear();
    if (w.ordered) w.ordered = std::make_unique<OrderedWindow>(w.panes.count, w.max_samples);
  }
}

void TrackWindows::Read(size_t window, const WindowQuery& query, bool huge, PaneSource& source,
                        double* values, uint8_t* present) {
  Window& w = windows_[window];
  if (w.ordered) {
    if (query.function == WindowFunction::kMad) {
      w.ordered->ReadMad(source, values, present);
    } else {
      w.ordered->Read(source, query.phi, values, present);
    }
    return;
  }
  const SlidingWindow::Halves halves = w.sliding->Read(source);
  RowPool& pool = source.pool();
  const Row& identity = pool.Identity(OpsOf(w.family).fields);
  query.finish((halves.tail != nullptr ? *halves.tail : identity).cells(),
               (halves.head != nullptr ? *halves.head : identity).cells(), pool.capacity(),
               source.columns(), query.context, values, present);
  if (huge && query.function == WindowFunction::kAvg)
    RescueAverages(*w.sliding, Plan().IndexOf(Family::kSums), source, values, present);
}

void TrackWindows::Save(BinaryWriter& out, const PaneCodec& codec) const {
  for (const Window& w : windows_) {
    out.U8(static_cast<uint8_t>(w.family));
    out.I64(w.panes.count);
    out.I64(w.panes.delay);
    if (w.ordered) w.ordered->Save(out);
    if (w.panes.count != 0) continue;
    out.Bool(static_cast<bool>(w.sliding->prefix()));
    if (w.sliding->prefix()) codec.SaveRow(out, w.sliding->prefix());
  }
}

void TrackWindows::Load(BinaryReader& in, const PaneCodec& codec) {
  // After a reload, the order of the windows may differ from that after a fresh start.
  for (size_t k = 0; k < windows_.size() && in.ok(); ++k) {
    const auto family = static_cast<Family>(in.U8());
    WindowPanes panes;
    panes.count = in.I64();
    panes.delay = in.I64();
    const std::optional<size_t> index = Find(family, panes);
    if (!index.has_value()) {
      in.Fail();
      return;
    }
    Window& w = windows_[*index];
    if (w.ordered) w.ordered->Load(in, codec.shape().columns);
    if (w.panes.count == 0 && in.Bool())
      w.sliding->prefix() = codec.LoadRow(in, OpsOf(w.family).fields);
  }
}

size_t TrackWindows::MemoryBytes() const {
  size_t bytes = 0;
  for (const Window& w : windows_) {
    if (w.ordered) bytes += w.ordered->MemoryBytes();
  }
  return bytes;
}

}  // namespace pitwall::window
