// Save and Load of a track. Windows are not saved: they are functions of the panes
// (SlidingWindow::Rebuild), but for what N = 0 ran up to and which columns overflowed.
#include <algorithm>

#include "services/model/value.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

void Track::SaveRow(BinaryWriter& out, const Row& row) const {
  for (uint32_t f = 0; f < row.fields(); ++f) {
    out.Doubles({row.cells() + f * pool_->capacity(), columns_});
  }
}

Row Track::LoadRow(BinaryReader& in, uint32_t fields) {
  Row row = pool_->NewIdentity(fields);
  for (uint32_t f = 0; f < fields; ++f) {
    const std::vector<double> cells = in.Doubles();
    if (cells.size() != columns_) {
      in.Fail();
      break;
    }
    std::copy(cells.begin(), cells.end(), row.cells() + f * pool_->capacity());
  }
  return row;
}

// Times of present samples; the others repeat the one before, which costs a byte.
void Track::SaveTimes(BinaryWriter& out, const Row& times, const Row& values) const {
  const auto* cells = reinterpret_cast<const int64_t*>(times.cells());
  std::vector<int64_t> packed(columns_, 0);
  for (size_t i = 0; i < columns_; ++i) {
    packed[i] = IsMissing(values.cells()[i]) ? (i > 0 ? packed[i - 1] : 0) : cells[i];
  }
  out.I64s(packed);
}

Row Track::LoadTimes(BinaryReader& in, const Row& values) {
  Row row = pool_->NewIdentity(1);
  const std::vector<int64_t> times = in.I64s();
  if (times.size() != columns_) {
    in.Fail();
    return row;
  }
  auto* cells = reinterpret_cast<int64_t*>(row.cells());
  for (size_t i = 0; i < columns_; ++i) {
    if (!IsMissing(values.cells()[i])) cells[i] = times[i];
  }
  return row;
}

void Track::SavePane(BinaryWriter& out, const Pane& pane) const {
  out.U8(static_cast<uint8_t>(pane.form));
  if (pane.form == PaneForm::kSingle) {
    SaveRow(out, pane.values);
    out.Bool(static_cast<bool>(pane.times));
    if (pane.times) SaveTimes(out, pane.times, pane.values);
  }
  if (pane.form != PaneForm::kDeep) return;
  const DeepPane& deep = *pane.deep;
  for (const Row& partial : deep.partials) {
    out.Bool(static_cast<bool>(partial));
    if (partial) SaveRow(out, partial);
  }
  out.Bool(static_cast<bool>(deep.scaled));
  if (deep.scaled) SaveRow(out, deep.scaled);
  out.U64(deep.samples.size());
  for (const Row& row : deep.samples) SaveRow(out, row);
  out.U64(deep.extras.size());
  for (const Extra& extra : deep.extras) {
    out.U64(extra.column);
    out.Double(extra.value);
  }
  out.U32s(deep.dropped);
}

void Track::LoadPane(BinaryReader& in, const std::vector<size_t>& order, Pane& pane) {
  const uint8_t form = in.U8();
  if (form > static_cast<uint8_t>(PaneForm::kDeep)) {
    in.Fail();
    return;
  }
  pane.form = static_cast<PaneForm>(form);
  if (pane.form == PaneForm::kSingle) {
    pane.values = LoadRow(in, 1);
    if (in.Bool()) pane.times = LoadTimes(in, pane.values);
    CountPane(pane);
  }
  if (pane.form != PaneForm::kDeep) return;
  pane.deep = std::make_unique<DeepPane>();
  DeepPane& deep = *pane.deep;
  deep.partials.resize(families_.size());
  for (const size_t f : order) {
    if (in.Bool()) deep.partials[f] = LoadRow(in, OpsOf(families_[f]).fields);
  }
  if (in.Bool()) deep.scaled = LoadRow(in, OpsOf(Family::kSums).fields);
  const size_t samples = in.Count(1);
  for (size_t k = 0; k < samples && in.ok(); ++k) deep.samples.push_back(LoadRow(in, 1));
  const size_t extras = in.Count(9);
  for (size_t k = 0; k < extras && in.ok(); ++k) {
    const uint64_t column = in.U64();
    const double value = in.Double();
    if (column >= columns_) in.Fail();
    deep.extras.push_back({static_cast<uint32_t>(column), value});
  }
  deep.dropped = in.U32s();
  for (const uint32_t column : deep.dropped) {
    if (column >= columns_) in.Fail();
  }
}

void Track::Save(BinaryWriter& out) const {
  out.Bool(started_);
  if (!started_) return;
  out.U64(columns_);
  out.U64(families_.size());
  for (const Family family : families_) out.U8(static_cast<uint8_t>(family));
  out.I64(open_);
  out.Bool(huge_);
  out.Bool(folded_);
  out.I64(lost_);
  if (packed_) archive_.Save(out);
  out.U64(closed_.size());
  for (const Pane& pane : closed_) SavePane(out, pane);
  if (folded_) SavePane(out, open_pane_);
  out.Bytes({fill_.data(), columns_});
  for (uint32_t j = 0; j < used_layers_; ++j) {
    SaveRow(out, layers_[j]);
    if (timed_) SaveTimes(out, layer_times_[j], layers_[j]);
  }
  out.U32s(kept_samples_);
  for (const Window& w : windows_) {
    out.U8(static_cast<uint8_t>(w.family));
    out.I64(w.panes);
    out.I64(w.delay);
    if (w.ordered) w.ordered->Save(out);
    if (w.panes != 0) continue;
    out.Bool(static_cast<bool>(w.sliding->prefix()));
    if (w.sliding->prefix()) SaveRow(out, w.sliding->prefix());
  }
}

void Track::Load(BinaryReader& in, size_t columns) {
  if (!in.Bool()) return;
  // A row costs at least 8 bytes a column, so that no count read here can exceed what the bytes can
  // hold. Series that joined since the last seal have no columns yet.
  const uint64_t saved = in.U64();
  if (saved > columns || in.U64() != families_.size()) {
    in.Fail();
    return;
  }
  SetColumns(static_cast<size_t>(saved));
  // A reload may have left families and windows in another order than a fresh start gives.
  std::vector<size_t> order;
  for (size_t f = 0; f < families_.size(); ++f) {
    order.push_back(FamilyIndex(static_cast<Family>(in.U8())));
    if (order.back() >= families_.size()) in.Fail();
  }
  const int64_t open = in.I64();
  huge_ = in.Bool();
  folded_ = in.Bool();
  lost_ = in.I64();
  if (!in.ok() || open < kMinPosition || open > kMaxPosition) {
    in.Fail();
    return;
  }
  if (packed_) archive_.Load(in, families_, columns_, open - keep_times_);
  const size_t closed = in.Count(1);
  if (packed_ && !archive_.empty() && archive_.end() != open - static_cast<int64_t>(closed))
    in.Fail();
  if (!in.ok() || closed > static_cast<size_t>(packed_ ? 2 * PaneArchive::kBlock : keep_)) {
    in.Fail();
    return;
  }
  Start(open);
  for (size_t k = 0; k < closed && in.ok(); ++k) {
    closed_.emplace_back();
    Pane& pane = closed_.back();
    LoadPane(in, order, pane);
    const int64_t age = static_cast<int64_t>(closed - k);  // panes before the open one
    if (pane.form == PaneForm::kSingle && timed_ && !pane.times && age <= keep_times_) in.Fail();
    for (size_t f = 0; pane.deep && f < families_.size(); ++f) {
      if (!pane.deep->partials[f] && age <= keep_family_[f]) in.Fail();
    }
    nonempty_ += closed_.back().form == PaneForm::kEmpty ? 0 : 1;
  }
  if (folded_) {
    LoadPane(in, order, open_pane_);
    if (open_pane_.form != PaneForm::kDeep) in.Fail();
  }
  const std::vector<uint8_t> fill = in.Bytes();
  if (!in.ok() || fill.size() != columns_) {
    in.Fail();
    return;
  }
  uint32_t layers = 0;
  for (const uint8_t used : fill) layers = std::max<uint32_t>(layers, used);
  if (layers > kMaxLayers) {
    in.Fail();
    return;
  }
  for (uint32_t j = 0; j < layers && in.ok(); ++j) {
    layers_[j] = LoadRow(in, 1);
    if (timed_) layer_times_[j] = LoadTimes(in, layers_[j]);
    OpenLayer(j);
    for (size_t i = 0; i < columns_; ++i) {
      const bool present = !IsMissing(layers_[j].cells()[i]);
      layer_count_[j] += present ? 1 : 0;
      if (present != (fill[i] > j)) in.Fail();
    }
  }
  std::copy(fill.begin(), fill.end(), fill_.begin());
  kept_samples_ = in.U32s();
  if (kept_samples_.size() > columns_) in.Fail();
  dropped_.assign(columns_, 0);
  if (open_pane_.deep) {
    for (const uint32_t column : open_pane_.deep->dropped) {
      if (column < columns_) dropped_[column] = 1;
    }
  }
  for (size_t k = 0; k < windows_.size() && in.ok(); ++k) {
    const auto family = static_cast<Family>(in.U8());
    const int64_t panes = in.I64(), delay = in.I64();
    const auto w = std::find_if(windows_.begin(), windows_.end(), [&](const Window& window) {
      return window.family == family && window.panes == panes && window.delay == delay;
    });
    if (w == windows_.end()) {
      in.Fail();
      return;
    }
    if (w->ordered) w->ordered->Load(in, columns_);
    if (w->panes == 0 && in.Bool()) w->sliding->prefix() = LoadRow(in, OpsOf(w->family).fields);
  }
  if (!in.ok()) return;
  settled_ = false;
  RebuildWindows();
}

}  // namespace pitwall::window
