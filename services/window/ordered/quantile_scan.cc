#include "services/window/ordered/quantile_scan.h"

#include <algorithm>
#include <array>

#include "services/model/value.h"
#include "services/window/functions/order_statistics.h"

namespace pitwall::window {

void QuantileScan::Gather(PaneSource& source, PaneIndex first, PaneIndex last,
                          std::span<const uint32_t> columns, const OrderedColumns& window) {
  std::array<size_t, kAtOnce> at, end;  // next free position and end position of each column's keys
  size_t all = 0;
  for (size_t c = 0; c < columns.size(); ++c) {
    at[c] = all;
    end[c] = all += window.count(columns[c]);
  }
  if (keys_.size() < all) keys_.resize(all);
  const auto put = [&](size_t c, double value) {
    if (at[c] < end[c]) keys_[at[c]++] = KeyOf(value);
  };
  const auto row = [&](const Row& samples) {
    const double* cells = samples.cells();
    for (size_t c = 0; c < columns.size(); ++c) {
      const double value = cells[columns[c]];
      if (!IsMissing(value)) put(c, value);
    }
  };
  for (size_t c = 0; c < columns.size(); ++c) slots_[columns[c]] = static_cast<uint32_t>(c) + 1;
  for (PaneIndex k = first; k <= last; ++k) {
    const Pane& pane = source.At(k);
    if (pane.form == PaneForm::kSingle) row(pane.values);
    if (pane.form != PaneForm::kDeep) continue;
    for (const Row& samples : pane.deep->samples) row(samples);
    for (const Extra& extra : pane.deep->extras) {
      if (const uint32_t slot = slots_[extra.column]; slot > 0) put(slot - 1, extra.value);
    }
  }
  for (const uint32_t column : columns) slots_[column] = 0;
}

void QuantileScan::Run(PaneSource& source, PaneIndex first, PaneIndex last,
                       const OrderedColumns& window, RankTracker& tracker, double* values) {
  if (unknown_.empty()) return;
  slots_.resize(window.size());
  for (size_t begin = 0; begin < unknown_.size(); begin += kAtOnce) {
    const size_t width = std::min(kAtOnce, unknown_.size() - begin);
    const std::span<const uint32_t> columns(unknown_.data() + begin, width);
    Gather(source, first, last, columns, window);
    size_t at = 0;
    for (const uint32_t column : columns) {
      const size_t n = window.count(column);
      tracker.Fill(column, {keys_.data() + at, n});
      tracker.Get(column, n, &values[column]);
      at += n;
    }
  }
  unknown_.clear();
}

}  // namespace pitwall::window
