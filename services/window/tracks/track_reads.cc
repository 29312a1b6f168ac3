// Reads of windows, and what changes all columns at once.
#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "services/base/check.h"
#include "services/model/value.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

void Track::Read(size_t window, FinishKernel finish, const ReadContext& context, double* values,
                 uint8_t* present) {
  if (!started_) {
    std::fill_n(present, columns_, uint8_t{0});
    return;
  }
  SlidingWindow& w = *windows_[window].sliding;
  const SlidingWindow::Halves halves = w.Read(*this);
  const Row& identity = pool_->Identity(OpsOf(w.family()).fields);
  finish((halves.tail != nullptr ? *halves.tail : identity).cells(),
         (halves.head != nullptr ? *halves.head : identity).cells(), pool_->capacity(), columns_,
         context, values, present);
}

void Track::ReadOrdered(size_t window, double phi, double* values, uint8_t* present) {
  if (!started_) {
    std::fill_n(present, columns_, uint8_t{0});
    return;
  }
  windows_[window].ordered->Read(*this, phi, values, present);
}

void Track::ReadMad(size_t window, double* values, uint8_t* present) {
  if (!started_) {
    std::fill_n(present, columns_, uint8_t{0});
    return;
  }
  windows_[window].ordered->ReadMad(*this, values, present);
}

void Track::RescueAverages(size_t window, double* values, const uint8_t* present) {
  if (!huge_ || !started_) return;
  const SlidingWindow& w = *windows_[window].sliding;
  if (w.panes() == 0) return;  // the samples are gone
  const size_t family = FamilyIndex(Family::kSums);
  const size_t c = pool_->capacity();
  struct Scaled {
    size_t column;
    double sum = 0, comp = 0, count = 0;
    void Add(double x) {
      const double t = sum + x;
      const double part = t - sum;
      const double error = (sum - (t - part)) + (x - part);
      comp = std::isfinite(comp + error) ? comp + error : 0;
      sum = t;
    }
  };
  std::vector<Scaled> scaled;
  for (size_t i = 0; i < columns_; ++i) {
    if (present[i] && !std::isfinite(values[i])) scaled.push_back({i});
  }
  if (scaled.empty()) return;
  for (int64_t k = w.cursor() - w.panes() + 1; k <= w.cursor(); ++k) {
    const Pane& pane = At(k);
    if (pane.form == PaneForm::kSingle) {
      for (Scaled& s : scaled) {
        const double x = pane.values.cells()[s.column];
        if (IsMissing(x)) continue;
        s.Add(x * kHugeScale);
        s.count += 1;
      }
    } else if (pane.form == PaneForm::kDeep) {
      const double scale = pane.deep->scaled ? 1 : kHugeScale;
      const Row& sums = pane.deep->scaled ? pane.deep->scaled : pane.deep->partials[family];
      if (!sums) continue;
      for (Scaled& s : scaled) {
        const double* cells = sums.cells() + s.column;
        s.Add(cells[0] * scale);
        s.Add(cells[c] * scale);
        s.count += cells[2 * c];
      }
    }
  }
  for (const Scaled& s : scaled)
    values[s.column] = (s.sum / s.count + s.comp / s.count) / kHugeScale;
}

int64_t Track::WindowEnd(size_t window) const {
  return grid_.EndOf(open_ - windows_[window].delay);
}

bool Track::AnyOverflow(size_t window) const {
  const Window& w = windows_[window];
  return w.ordered != nullptr && w.ordered->AnyOverflow();
}

void Track::RebuildWindows() {
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Rebuild(*this, open_ - w.delay);
  }
  RebuildOrdered();
}

void Track::RebuildOrdered() {
  for (Window& w : windows_) {
    if (w.ordered == nullptr) continue;
    w.ordered->Rebuild(*this, open_ - w.delay);
    CountBlock(w);
  }
}

// Takes every row out of the windows; `prefixes`, by window, gets those that cannot be rebuilt.
void Track::ClearWindowRows(std::vector<Row>* prefixes) {
  prefixes->assign(windows_.size(), Row());
  for (size_t i = 0; i < windows_.size(); ++i) {
    SlidingWindow* sliding = windows_[i].sliding.get();
    if (sliding == nullptr) continue;
    if (windows_[i].panes == 0) (*prefixes)[i] = sliding->prefix();
    sliding->Clear();
  }
}

Row Track::MapRow(const Row& row, RowPool& to, const std::vector<uint32_t>& keep) const {
  if (!row) return Row();
  Row out = to.NewIdentity(row.fields());
  for (uint32_t f = 0; f < row.fields(); ++f) {
    const double* from_cells = row.cells() + f * pool_->capacity();
    double* to_cells = out.cells() + f * to.capacity();
    for (size_t i = 0; i < keep.size(); ++i) {
      if (keep[i] < columns_) to_cells[i] = from_cells[keep[i]];
    }
  }
  return out;
}

template <typename Map>
void Track::MapPane(Pane& pane, const Map& map, const std::vector<uint32_t>& target) const {
  pane.values = map(pane.values);
  pane.times = map(pane.times);
  if (pane.deep == nullptr) return;
  DeepPane& deep = *pane.deep;
  for (Row& row : deep.partials) row = map(row);
  deep.scaled = map(deep.scaled);
  for (Row& row : deep.samples) row = map(row);
  std::erase_if(deep.extras,
                [&](const Extra& extra) { return target[extra.column] == UINT32_MAX; });
  for (Extra& extra : deep.extras) extra.column = target[extra.column];
  std::erase_if(deep.dropped, [&](uint32_t column) { return target[column] == UINT32_MAX; });
  for (uint32_t& column : deep.dropped) column = target[column];
}

// After columns went: what is present now.
void Track::CountPane(Pane& pane) {
  if (pane.form != PaneForm::kSingle) return;
  pane.present = 0;
  for (size_t i = 0; i < columns_; ++i) pane.present += IsMissing(pane.values.cells()[i]) ? 0 : 1;
  if (pane.present > 0) return;
  pane.form = PaneForm::kEmpty;
  pane.values.reset();
  pane.times.reset();
}

void Track::Remap(const std::vector<uint32_t>& keep) {
  std::vector<uint32_t> target(columns_, UINT32_MAX);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < columns_) target[keep[i]] = static_cast<uint32_t>(i);
  }
  auto pool = std::make_unique<RowPool>(RowPool::CapacityFor(keep.size()));
  // Windows share rows with each other and with themselves: what was one row stays one.
  absl::flat_hash_map<const void*, Row> mapped;
  const auto map = [&](const Row& row) -> Row {
    if (!row) return Row();
    Row& to = mapped[row.id()];
    if (!to) to = MapRow(row, *pool, keep);
    return to;
  };
  for (Pane& pane : closed_) MapPane(pane, map, target);
  archive_.Remap(keep);
  // The open pane is rebuilt from its layers, which are shared with it.
  open_pane_.values.reset();
  open_pane_.times.reset();
  MapPane(open_pane_, map, target);
  for (uint32_t j = 0; j < kMaxLayers; ++j) {
    layers_[j] = map(layers_[j]);
    layer_times_[j] = map(layer_times_[j]);
    layer_cells_[j] = layers_[j] ? layers_[j].cells() : nullptr;
    layer_time_cells_[j] =
        layer_times_[j] ? reinterpret_cast<int64_t*>(layer_times_[j].cells()) : nullptr;
  }
  // Columns have nothing to do with each other: what the windows ran up to holds for those that
  // stay, whatever the length.
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->MapRows(map);
  }
  mapped.clear();
  std::vector<uint8_t> fill(pool->capacity(), 0);
  std::vector<uint32_t> kept_samples(keep.size(), 0);
  std::vector<uint8_t> dropped(keep.size(), 0);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] >= columns_) continue;
    fill[i] = fill_[keep[i]];
    if (keep[i] < kept_samples_.size()) kept_samples[i] = kept_samples_[keep[i]];
    if (keep[i] < dropped_.size()) dropped[i] = dropped_[keep[i]];
  }
  dropped_ = std::move(dropped);
  fill_ = std::move(fill);
  kept_samples_ = std::move(kept_samples);
  for (Window& w : windows_) {
    if (w.ordered) w.ordered->Remap(keep);
  }
  pool_ = std::move(pool);
  columns_ = keep.size();

  layer_count_.fill(0);
  used_layers_ = 0;
  for (size_t i = 0; i < columns_; ++i) {
    used_layers_ = std::max<uint32_t>(used_layers_, fill_[i]);
    for (uint32_t j = 0; j < fill_[i]; ++j) ++layer_count_[j];
  }
  for (uint32_t j = used_layers_; j < kMaxLayers; ++j) {
    layers_[j].reset();
    layer_times_[j].reset();
  }
  nonempty_ = 0;
  for (Pane& pane : closed_) {
    CountPane(pane);
    nonempty_ += pane.form == PaneForm::kEmpty ? 0 : 1;
  }
  if (!folded_) open_pane_.form = PaneForm::kEmpty;
  settled_ = false;
  ++version_;
  if (started_) RebuildOrdered();
}

void Track::ClearColumns(const std::vector<uint32_t>& columns) {
  std::vector<bool> gone(columns_, false);
  for (const uint32_t i : columns) gone[i] = true;
  // Through Remap, which is the one place that knows every row: the columns are taken out, then
  // join again.
  std::vector<uint32_t> keep(columns_);
  for (size_t i = 0; i < columns_; ++i) keep[i] = gone[i] ? UINT32_MAX : static_cast<uint32_t>(i);
  Remap(keep);
}

void Track::Reset() {
  std::vector<Row> prefixes;
  ClearWindowRows(&prefixes);
  prefixes.clear();
  closed_.clear();
  archive_.Clear();
  lost_ = kMinPosition;
  nonempty_ = 0;
  open_pane_ = Pane();
  ClearLayers();
  kept_samples_.clear();
  dropped_.clear();
  started_ = settled_ = folded_ = huge_ = false;
  ++version_;
  for (Window& w : windows_) {
    if (w.ordered == nullptr) continue;
    w.ordered = std::make_unique<OrderedWindow>(w.panes, max_ordered_);
    w.block_samples.clear();
  }
}

size_t Track::MemoryBytes() const {
  size_t bytes = sizeof(Track) + pool_->MemoryBytes() + closed_.size() * sizeof(Pane) +
                 archive_.MemoryBytes() + fill_.capacity() +
                 kept_samples_.capacity() * sizeof(uint32_t);
  for (const Pane& pane : closed_) {
    if (pane.deep == nullptr) continue;
    const DeepPane& deep = *pane.deep;
    bytes += sizeof(DeepPane) + (deep.partials.capacity() + deep.samples.capacity()) * sizeof(Row) +
             deep.extras.capacity() * sizeof(Extra) + deep.dropped.capacity() * sizeof(uint32_t);
  }
  for (const Window& w : windows_) {
    if (w.ordered)
      bytes += w.ordered->MemoryBytes() + w.block_samples.capacity() * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace pitwall::window
