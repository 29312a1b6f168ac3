#include "services/window/panes/sample_limits.h"

#include <algorithm>

#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {

void SampleLimits::SetWindows(const std::vector<int64_t>& lengths, uint32_t max_samples) {
  max_samples_ = max_samples;
  windows_.clear();
  for (const int64_t length : lengths) windows_.push_back({length, {}});
}

bool SampleLimits::IsOver(size_t column) const {
  if (kept_[column] > max_samples_) return true;
  for (const Window& window : windows_) {
    const uint32_t before = column < window.samples.size() ? window.samples[column] : 0;
    if (before + kept_[column] <= max_samples_) return false;
  }
  return true;
}

void SampleLimits::Keep(const SampleLayers& layers, size_t columns, DeepPane& deep) {
  kept_.resize(columns, 0);
  dropped_.resize(columns, 0);
  for (uint32_t j = 0; j < layers.used(); ++j) {
    const double* cells = layers.cells(j);
    size_t useful = 0;
    for (size_t i = 0; i < columns; ++i) useful += !IsMissing(cells[i]) && !IsOver(i) ? 1 : 0;
    const bool whole = useful * 2 >= columns;
    for (size_t i = 0; i < columns; ++i) {
      if (IsMissing(cells[i])) continue;
      if (whole || !IsOver(i)) {
        ++kept_[i];
        if (!whole) deep.extras.push_back({static_cast<uint32_t>(i), cells[i]});
      } else if (!dropped_[i]) {
        dropped_[i] = 1;
        deep.dropped.push_back(static_cast<uint32_t>(i));
      }
    }
    if (whole) deep.samples.push_back(layers.values(j));
  }
}

void SampleLimits::ClosePane(PaneIndex index, bool deep, size_t columns) {
  for (Window& window : windows_) {
    if (FloorMod(index, window.length) == 0) {
      window.samples.clear();
    } else if (deep) {
      window.samples.resize(columns, 0);
      for (size_t i = 0; i < kept_.size(); ++i) window.samples[i] += kept_[i];
    }
  }
  kept_.assign(kept_.size(), 0);
  dropped_.assign(dropped_.size(), 0);
}

void SampleLimits::SkipPanes() {
  for (Window& window : windows_) window.samples.clear();
}

void SampleLimits::Count(const std::deque<Pane>& closed, PaneIndex open, size_t columns) {
  const auto held = static_cast<int64_t>(closed.size());
  for (Window& window : windows_) {
    window.samples.clear();
    const int64_t in_block = FloorMod(open - 1, window.length);
    for (int64_t k = std::max<int64_t>(0, held - in_block); k < held; ++k) {
      const Pane& pane = closed[static_cast<size_t>(k)];
      if (pane.form != PaneForm::kDeep) continue;
      window.samples.resize(columns, 0);
      for (const Row& row : pane.deep->samples) {
        for (size_t i = 0; i < columns; ++i) window.samples[i] += IsMissing(row.cells()[i]) ? 0 : 1;
      }
      for (const Extra& extra : pane.deep->extras) ++window.samples[extra.column];
    }
  }
}

void SampleLimits::Remap(const RowMapper& mapper) {
  mapper.MapValues(kept_);
  mapper.MapValues(dropped_);
}

void SampleLimits::Reset() {
  kept_.clear();
  dropped_.clear();
  SkipPanes();
}

void SampleLimits::Load(BinaryReader& in, size_t columns, const DeepPane* open) {
  kept_ = in.U32s();
  if (kept_.size() > columns) in.Fail();
  dropped_.assign(columns, 0);
  if (open == nullptr) return;
  for (const uint32_t column : open->dropped) {
    if (column < columns) dropped_[column] = 1;
  }
}

size_t SampleLimits::MemoryBytes() const {
  size_t bytes = kept_.capacity() * sizeof(uint32_t);
  for (const Window& window : windows_) bytes += window.samples.capacity() * sizeof(uint32_t);
  return bytes;
}

}  // namespace pitwall::window
