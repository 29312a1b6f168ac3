#include "services/window/tracks/track.h"

#include <algorithm>
#include <cmath>

#include "services/base/check.h"
#include "services/model/value.h"

namespace pitwall::window {
namespace {

const Pane& EmptyPane() {
  static const Pane pane;
  return pane;
}

}  // namespace

Track::Track(PaneGrid grid, bool with_stale, size_t packed_limit)
    : grid_(grid),
      with_stale_(with_stale),
      packed_limit_(packed_limit),
      packed_(packed_limit > 0),
      pool_(std::make_unique<RowPool>(RowPool::CapacityFor(0))) {
  fill_.assign(pool_->capacity(), 0);
}

size_t Track::AddWindow(Family family, int64_t panes, int64_t delay, uint32_t max_ordered) {
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Window& w = windows_[i];
    if (w.family == family && w.panes == panes && w.delay == delay) return i;
  }
  PITWALL_CHECK(!started_ && !(packed_ && family == Family::kOrdered));
  Window window{family, panes, delay, nullptr, nullptr};
  if (family == Family::kOrdered) {
    window.ordered = std::make_unique<OrderedWindow>(panes, max_ordered);
    max_ordered_ = max_ordered;
  }
  windows_.push_back(std::move(window));
  Plan();
  if (family != Family::kOrdered) {
    windows_.back().sliding = std::make_unique<SlidingWindow>(family, FamilyIndex(family), panes);
  }
  return windows_.size() - 1;
}

void Track::Plan() {
  families_.clear();
  keep_family_.clear();
  keep_ = keep_times_ = 0;
  timed_ = ordered_ = false;
  for (const Window& w : windows_) {
    const int64_t keep = w.panes + w.delay;
    keep_ = std::max(keep_, keep);
    if (w.family == Family::kOrdered) {
      ordered_ = true;
      continue;
    }
    if (OpsOf(w.family).timed) {
      timed_ = true;
      keep_times_ = std::max(keep_times_, keep);
    }
    const auto it = std::find(families_.begin(), families_.end(), w.family);
    if (it == families_.end()) {
      families_.push_back(w.family);
      keep_family_.push_back(keep);
    } else {
      int64_t& kept = keep_family_[static_cast<size_t>(it - families_.begin())];
      kept = std::max(kept, keep);
    }
  }
}

size_t Track::FamilyIndex(Family family) const {
  return static_cast<size_t>(std::find(families_.begin(), families_.end(), family) -
                             families_.begin());
}

void Track::RetainWindows(const std::vector<bool>& used) {
  if (std::find(used.begin(), used.end(), false) == used.end()) return;
  Settle();
  const std::vector<Family> old_families = families_;
  std::vector<Row> prefixes;
  ClearWindowRows(&prefixes);
  std::vector<Window> kept;
  std::vector<Row> kept_prefixes;
  for (size_t i = 0; i < windows_.size(); ++i) {
    if (i >= used.size() || !used[i]) continue;
    kept.push_back(std::move(windows_[i]));
    kept_prefixes.push_back(std::move(prefixes[i]));
  }
  windows_ = std::move(kept);
  Plan();
  const auto move_partials = [&](Pane& pane) {
    if (!timed_) pane.times.reset();
    if (pane.deep == nullptr) return;
    DeepPane& deep = *pane.deep;
    std::vector<Row> partials(families_.size());
    for (size_t f = 0; f < families_.size(); ++f) {
      const auto at = std::find(old_families.begin(), old_families.end(), families_[f]);
      partials[f] = deep.partials[static_cast<size_t>(at - old_families.begin())];
    }
    deep.partials = std::move(partials);
    if (FamilyIndex(Family::kSums) == families_.size()) deep.scaled.reset();
    if (!ordered_) {
      deep.samples.clear();
      deep.extras.clear();
      deep.dropped.clear();
    }
  };
  archive_.Retain(families_, timed_);
  for (Pane& pane : closed_) move_partials(pane);
  move_partials(open_pane_);
  for (size_t i = 0; i < windows_.size(); ++i) {
    Window& w = windows_[i];
    if (w.sliding == nullptr) continue;
    const int64_t cursor = w.sliding->cursor();
    w.sliding = std::make_unique<SlidingWindow>(w.family, FamilyIndex(w.family), w.panes);
    w.sliding->Start(cursor);
    w.sliding->prefix() = std::move(kept_prefixes[i]);
  }
  if (!started_) return;
  RebuildWindows();
  Trim();
}

void Track::SetColumns(size_t columns) {
  if (columns <= columns_) return;
  if (columns <= pool_->capacity()) {
    columns_ = columns;
    return;
  }
  std::vector<uint32_t> keep(columns);
  for (size_t i = 0; i < columns; ++i) {
    keep[i] = i < columns_ ? static_cast<uint32_t>(i) : UINT32_MAX;
  }
  Remap(keep);
}

void Track::Start(int64_t index) {
  started_ = true;
  open_ = index;
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Start(open_ - w.delay);
    if (w.ordered) w.ordered->Start(open_ - w.delay);
  }
}

void Track::Advance(int64_t position) {
  if (started_ && position <= grid_.EndOf(open_)) return;  // without a division, once a row
  const int64_t index = grid_.IndexOf(position);
  if (!started_) Start(index);
  while (open_ < index) {
    if (nonempty_ == 0 && archive_.nonempty() == 0 && used_layers_ == 0 && !folded_) {
      Jump(index);
    } else {
      Close();
    }
  }
}

// Nothing is held anywhere: the panes up to `index` need not be walked.
void Track::Jump(int64_t index) {
  closed_.clear();
  archive_.Clear();
  const int64_t from = open_;
  open_ = index;
  for (Window& w : windows_) {
    const int64_t cursor = open_ - w.delay;
    w.block_samples.clear();  // empty panes, and none of a block that goes on
    if (w.sliding) w.sliding->Skip(cursor);
    if (w.ordered) {
      w.ordered->Start(cursor);
      if (FloorDiv(cursor, w.panes) > FloorDiv(from - w.delay, w.panes))
        w.ordered->ForgetOverflows();
    }
  }
}

void Track::Close() {
  Settle();
  const bool single = open_pane_.form == PaneForm::kSingle;
  const bool deep = open_pane_.form == PaneForm::kDeep;
  nonempty_ += open_pane_.form == PaneForm::kEmpty ? 0 : 1;
  closed_.push_back(std::move(open_pane_));
  open_pane_ = Pane();
  if (single) {  // its row went with the pane
    layers_[0].reset();
    layer_times_[0].reset();
    std::fill_n(fill_.begin(), columns_, uint8_t{0});
    layer_count_[0] = 0;
    used_layers_ = 0;
  }
  folded_ = false;
  settled_ = false;
  ++version_;
  for (Window& w : windows_) {
    if (w.ordered == nullptr) continue;
    if (FloorMod(open_, w.panes) == 0) {
      w.block_samples.clear();
    } else if (deep) {
      w.block_samples.resize(columns_, 0);
      for (size_t i = 0; i < kept_samples_.size(); ++i) w.block_samples[i] += kept_samples_[i];
    }
  }
  kept_samples_.assign(kept_samples_.size(), 0);
  dropped_.assign(dropped_.size(), 0);
  ++open_;
  for (Window& w : windows_) {
    if (w.sliding) w.sliding->Advance(*this);
    if (w.ordered) w.ordered->Advance(*this);
  }
  Trim();
  if (packed_) Archive();
}

// Packs the oldest block of panes once it lies far enough back.
void Track::Archive() {
  constexpr int64_t kBlock = PaneArchive::kBlock;
  const int64_t first = front(), end = (FloorDiv(first, kBlock) + 1) * kBlock;
  if (open_ - end >= kBlock) {
    const auto count = static_cast<size_t>(end - first);
    std::vector<Pane> panes(count);
    std::move(closed_.begin(), closed_.begin() + static_cast<ptrdiff_t>(count), panes.begin());
    closed_.erase(closed_.begin(), closed_.begin() + static_cast<ptrdiff_t>(count));
    archive_.Push(first, panes, shape());
    for (const Pane& pane : panes) nonempty_ -= pane.form == PaneForm::kEmpty ? 0 : 1;
    while (archive_.PackedBytes() > packed_limit_) DropOldest();
  }
  archive_.Forget(2 * windows_.size());
}

void Track::DropOldest() {
  const size_t samples = archive_.nonempty();
  const int64_t last = archive_.DropOldest();
  if (archive_.nonempty() < samples) lost_ = std::max(lost_, grid_.EndOf(last));
}

void Track::Trim() {
  while (!packed_ && static_cast<int64_t>(closed_.size()) > keep_) {
    nonempty_ -= closed_.front().form == PaneForm::kEmpty ? 0 : 1;
    closed_.pop_front();
  }
  if (packed_) {
    std::vector<int64_t>& before = trimmed_;
    before.clear();
    for (const int64_t keep : keep_family_) before.push_back(open_ - keep);
    archive_.Trim(open_ - keep_, open_ - keep_times_, families_, before);
  }
  // One pane a close leaves the reach of each kind.
  const auto behind = [&](int64_t keep) -> Pane* {
    const int64_t at = static_cast<int64_t>(closed_.size()) - keep - 1;
    return at >= 0 ? &closed_[static_cast<size_t>(at)] : nullptr;
  };
  if (timed_) {
    if (Pane* pane = behind(keep_times_)) pane->times.reset();
  }
  for (size_t f = 0; f < families_.size(); ++f) {
    Pane* pane = behind(keep_family_[f]);
    if (pane == nullptr || pane->form != PaneForm::kDeep) continue;
    pane->deep->partials[f].reset();
    if (families_[f] == Family::kSums) pane->deep->scaled.reset();
  }
}

const Pane& Track::At(int64_t index) {
  if (index == open_) {
    Settle();
    return open_pane_;
  }
  const int64_t at = index - front();
  if (index > open_) return EmptyPane();
  if (at >= 0) return closed_[static_cast<size_t>(at)];
  const Pane* packed = packed_ ? archive_.At(index, shape()) : nullptr;
  return packed != nullptr ? *packed : EmptyPane();
}

void Track::OpenLayer(uint32_t layer) {
  Row& row = layers_[layer];
  if (!row) row = pool_->NewIdentity(1);
  layer_cells_[layer] = row.cells();
  if (timed_) {
    Row& times = layer_times_[layer];
    if (!times) times = pool_->NewIdentity(1);
    layer_time_cells_[layer] = reinterpret_cast<int64_t*>(times.cells());
  }
  used_layers_ = layer + 1;
}

void Track::Scatter(int64_t position, std::span<const uint32_t> cells,
                    std::span<const uint32_t> columns, const double* values) {
  settled_ = false;
  ++version_;
  for (size_t i = 0; i < cells.size(); ++i) {
    const double value = values[cells[i]];
    if (IsMissing(value)) continue;
    const uint32_t column = columns[i];
    uint32_t layer = fill_[column];
    if (layer >= used_layers_) {
      if (layer == kMaxLayers) {
        FoldLayers();
        layer = 0;
      }
      OpenLayer(layer);
    }
    layer_cells_[layer][column] = value;
    if (timed_) layer_time_cells_[layer][column] = position;
    fill_[column] = static_cast<uint8_t>(layer + 1);
    ++layer_count_[layer];
  }
}

// Brings open_pane_ up to date.
void Track::Settle() {
  if (settled_) return;
  settled_ = true;
  open_pane_.version = version_;
  if (used_layers_ == 0) return;  // empty, or all folded
  if (used_layers_ == 1 && !folded_) {
    open_pane_.form = PaneForm::kSingle;
    open_pane_.present = layer_count_[0];
    open_pane_.values = layers_[0];
    if (timed_) open_pane_.times = layer_times_[0];
    return;
  }
  FoldLayers();
}

void Track::FoldLayers() {
  open_pane_.form = PaneForm::kDeep;
  open_pane_.values.reset();
  open_pane_.times.reset();
  if (open_pane_.deep == nullptr) open_pane_.deep = std::make_unique<DeepPane>();
  DeepPane& deep = *open_pane_.deep;
  deep.partials.resize(families_.size());
  for (size_t f = 0; f < families_.size(); ++f) {
    const FamilyOps& ops = OpsOf(families_[f]);
    if (families_[f] == Family::kSums && huge_) FoldScaled(f);
    Row& partial = deep.partials[f];
    for (uint32_t j = 0; j < used_layers_; ++j) {
      Row out = pool_->New(ops.fields);
      ops.append(out.cells(), (partial ? partial : pool_->Identity(ops.fields)).cells(),
                 layer_cells_[j], layer_time_cells_[j], pool_->capacity(), columns_,
                 layer_count_[j] == columns_);
      partial = std::move(out);
    }
  }
  if (ordered_) KeepSamples();
  ClearLayers();
  folded_ = true;
}

// Before the layers are folded into the sums themselves.
void Track::FoldScaled(size_t sums_index) {
  const FamilyOps& ops = OpsOf(Family::kSums);
  Row& scaled = open_pane_.deep->scaled;
  const Row& sums = open_pane_.deep->partials[sums_index];
  if (!scaled && sums) {
    scaled = pool_->NewIdentity(ops.fields);
    const size_t c = pool_->capacity();
    for (size_t i = 0; i < columns_; ++i) {
      scaled.cells()[i] = sums.cells()[i] * kHugeScale;
      scaled.cells()[c + i] = sums.cells()[c + i] * kHugeScale;
      scaled.cells()[2 * c + i] = sums.cells()[2 * c + i];
    }
  }
  Row values = pool_->NewIdentity(1);
  for (uint32_t j = 0; j < used_layers_; ++j) {
    for (size_t i = 0; i < columns_; ++i) {
      const double x = layer_cells_[j][i];
      values.cells()[i] = IsMissing(x) ? x : x * kHugeScale;
    }
    Row out = pool_->New(ops.fields);
    ops.append(out.cells(), (scaled ? scaled : pool_->Identity(ops.fields)).cells(), values.cells(),
               nullptr, pool_->capacity(), columns_, false);
    scaled = std::move(out);
  }
}

// Whether more samples of this column in the open pane would be of no use to any ordered window.
bool Track::OverLimit(size_t column) const {
  if (kept_samples_[column] > max_ordered_) return true;
  for (const Window& w : windows_) {
    if (w.ordered == nullptr) continue;
    const uint32_t before = column < w.block_samples.size() ? w.block_samples[column] : 0;
    if (before + kept_samples_[column] <= max_ordered_) return false;
  }
  return true;
}

// block_samples from the panes that are held.
void Track::CountBlock(Window& w) const {
  w.block_samples.clear();
  const int64_t held = static_cast<int64_t>(closed_.size());
  const int64_t in_block = FloorMod(open_ - 1, w.panes);
  for (int64_t k = std::max<int64_t>(0, held - in_block); k < held; ++k) {
    const Pane& pane = closed_[static_cast<size_t>(k)];
    if (pane.form != PaneForm::kDeep) continue;
    w.block_samples.resize(columns_, 0);
    for (const Row& row : pane.deep->samples) {
      for (size_t i = 0; i < columns_; ++i) w.block_samples[i] += IsMissing(row.cells()[i]) ? 0 : 1;
    }
    for (const Extra& extra : pane.deep->extras) ++w.block_samples[extra.column];
  }
}

// Hands the layers' samples to the pane: whole rows where they are well filled, else one by one.
void Track::KeepSamples() {
  DeepPane& deep = *open_pane_.deep;
  kept_samples_.resize(columns_, 0);
  dropped_.resize(columns_, 0);
  for (uint32_t j = 0; j < used_layers_; ++j) {
    const double* cells = layer_cells_[j];
    size_t useful = 0;
    for (size_t i = 0; i < columns_; ++i) useful += !IsMissing(cells[i]) && !OverLimit(i) ? 1 : 0;
    const bool whole = useful * 2 >= columns_;
    for (size_t i = 0; i < columns_; ++i) {
      if (IsMissing(cells[i])) continue;
      if (whole || !OverLimit(i)) {
        ++kept_samples_[i];
        if (!whole) deep.extras.push_back({static_cast<uint32_t>(i), cells[i]});
      } else if (!dropped_[i]) {
        dropped_[i] = 1;
        deep.dropped.push_back(static_cast<uint32_t>(i));
      }
    }
    if (whole) deep.samples.push_back(layers_[j]);
  }
}

void Track::ClearLayers() {
  std::fill_n(fill_.begin(), columns_, uint8_t{0});
  for (uint32_t j = 0; j < used_layers_; ++j) {
    layers_[j].reset();
    layer_times_[j].reset();
    layer_count_[j] = 0;
  }
  used_layers_ = 0;
}

}  // namespace pitwall::window
