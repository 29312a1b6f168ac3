#include "services/window/tracks/sketch_window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "services/model/position.h"
#include "services/model/value.h"
#include "services/model/windows/window_limits.h"
#include "services/window/tracks/series_track.h"

namespace pitwall::window {
namespace {

// A bucket consists of the exponent and the first bits of the mantissa.
constexpr int kMantissaBits = 6;
constexpr int kShift = 52 - kMantissaBits;
constexpr int32_t kPerOctave = 1 << kMantissaBits;
constexpr int32_t kInfinity = 2047 * kPerOctave;
constexpr int32_t kNan = -kInfinity - 1;

// Layout of a log entry.
constexpr uint32_t kBucketBits = 18, kEqualBits = 6;
constexpr uint32_t kBucketMask = (1U << kBucketBits) - 1, kMostEquals = 1U << kEqualBits;
constexpr uint32_t kMostPanes = 255;
constexpr int32_t kBucketBase = 1 << (kBucketBits - 1);
// Placeholder bucket in entries that only advance the pane.
constexpr uint32_t kOnlyPanes = 0;

uint32_t EntryOf(uint32_t panes, uint32_t bucket) {
  return panes << (kBucketBits + kEqualBits) | bucket;
}
uint32_t PanesOf(uint32_t entry) { return entry >> (kBucketBits + kEqualBits); }
bool HasSamples(uint32_t entry) { return (entry & kBucketMask) != kOnlyPanes; }
int32_t BucketOf(uint32_t entry) { return static_cast<int32_t>(entry & kBucketMask) - kBucketBase; }
uint32_t EqualsOf(uint32_t entry) { return (entry >> kBucketBits & (kMostEquals - 1)) + 1; }

}  // namespace

int32_t SketchBucketOf(double value) {
  if (std::isnan(value)) return kNan;
  const auto magnitude = static_cast<int32_t>(std::bit_cast<uint64_t>(std::fabs(value)) >> kShift);
  if (magnitude < kPerOctave) return 0;
  return value < 0 ? -magnitude : magnitude;
}

double SketchValueOf(int32_t bucket) {
  if (bucket == kNan) return NormalNan();
  if (bucket == 0) return 0;
  const int32_t magnitude = std::abs(bucket);
  double value = std::bit_cast<double>(static_cast<uint64_t>(magnitude) << kShift);
  // The harmonic mean of the bucket's ends minimizes the maximum relative error.
  const double part = magnitude % kPerOctave;
  if (magnitude < kInfinity)
    value *= (2 * kPerOctave + 2 + 2 * part) / (2 * kPerOctave + 1 + 2 * part);
  return bucket < 0 ? -value : value;
}

void SketchWindow::Ring::Resize(size_t capacity) {
  std::vector<uint32_t> cells(capacity);
  for (uint32_t k = 0; k < size_; ++k) cells[k] = (*this)[k];
  cells_ = std::move(cells);
  head_ = 0;
}

void SketchWindow::Ring::PushBack(uint32_t entry) {
  if (size_ == cells_.size()) Resize(std::max<size_t>(8, cells_.size() + cells_.size() / 4));
  ++size_;
  (*this)[size_ - 1] = entry;
}

void SketchWindow::Ring::PopFront() {
  head_ = Place(1);
  --size_;
  if (cells_.size() > 64 && size_ < cells_.size() / 4) Resize(cells_.size() / 2);
}

SketchWindow::SketchWindow(const WindowShape& shape, uint32_t max_entries)
    : grid_(shape.grid), panes_(shape.panes), max_entries_(max_entries) {}

void SketchWindow::SetColumns(size_t columns) {
  if (columns > columns_.size()) columns_.resize(columns);
}

void SketchWindow::Count(Column* column, int32_t bucket, uint32_t samples) {
  column->total += samples;
  const auto at = std::lower_bound(column->buckets.begin(), column->buckets.end(), bucket);
  const auto count = column->counts.begin() + (at - column->buckets.begin());
  if (at != column->buckets.end() && *at == bucket) {
    *count += samples;
    return;
  }
  column->counts.insert(count, samples);
  column->buckets.insert(at, bucket);
}

void SketchWindow::Discount(Column* column, int32_t bucket, uint32_t samples) {
  column->total -= samples;
  const auto at = std::lower_bound(column->buckets.begin(), column->buckets.end(), bucket);
  const auto count = column->counts.begin() + (at - column->buckets.begin());
  *count -= samples;
  if (*count > 0) return;
  column->counts.erase(count);
  column->buckets.erase(at);
}

void SketchWindow::PopFront(Column* column) const {
  const uint32_t entry = column->log[0];
  column->front_pane = column->front_pane + PanesOf(entry);
  if (column->entered > 0) {
    --column->entered;
    if (HasSamples(entry) && panes_.count > 0) Discount(column, BucketOf(entry), EqualsOf(entry));
  } else {
    column->entered_pane = column->front_pane;
  }
  column->log.PopFront();
}

void SketchWindow::MoveTo(Column* column, PaneIndex last) const {
  while (column->entered < column->log.size()) {
    const uint32_t entry = column->log[column->entered];
    if (column->entered_pane + PanesOf(entry) > last) break;
    column->entered_pane = column->entered_pane + PanesOf(entry);
    ++column->entered;
    if (HasSamples(entry)) Count(column, BucketOf(entry), EqualsOf(entry));
    if (panes_.count == 0) PopFront(column);
  }
  for (; !column->arriving.empty() && column->arriving.front().first <= last;
       column->arriving.pop_front()) {
    Enter(column, column->arriving.front().first, column->arriving.front().second);
  }
  while (panes_.count > 0 && column->entered > 0 &&
         column->front_pane + PanesOf(column->log[0]) <= last - panes_.count) {
    PopFront(column);
  }
  if (panes_.count > 0) column->extremes.DropBefore(last - panes_.count + 1);
}

void SketchWindow::Enter(Column* column, PaneIndex pane, double value) const {
  column->extremes.Push(pane, value);
  if (panes_.count == 0) column->extremes.KeepEnds();
}

void SketchWindow::Push(Column* column, PaneIndex pane, double value) const {
  MoveTo(column, pane - panes_.delay);
  const int32_t bucket = SketchBucketOf(value);
  // Values in bucket 0 count as exactly 0.
  const double counted = bucket == 0 ? 0.0 : value;
  if (panes_.delay == 0) {
    Enter(column, pane, counted);
  } else {
    if (column->arriving.size() >= max_entries_) column->arriving.pop_front();
    column->arriving.emplace_back(pane, counted);
  }
  Ring& log = column->log;
  if (log.size() == 0) {
    column->front_pane = column->entered_pane = column->last_pane = pane;
  } else if (pane == column->last_pane) {
    uint32_t& newest = log[log.size() - 1];
    if (HasSamples(newest) && BucketOf(newest) == bucket && EqualsOf(newest) < kMostEquals) {
      newest += 1U << kBucketBits;
      if (column->entered == log.size()) Count(column, bucket, 1);
      return;
    }
  }
  while (log.size() >= max_entries_) {
    const uint32_t entry = log[0];
    PopFront(column);
    if (HasSamples(entry)) column->lost_pane = column->front_pane;
  }
  int64_t panes = pane - column->last_pane;
  for (; panes > kMostPanes; panes -= kMostPanes) log.PushBack(EntryOf(kMostPanes, kOnlyPanes));
  log.PushBack(EntryOf(static_cast<uint32_t>(panes), static_cast<uint32_t>(bucket + kBucketBase)));
  column->last_pane = pane;
}

void SketchWindow::Scatter(Position position, std::span<const uint32_t> cells,
                           std::span<const uint32_t> columns, const double* values) {
  const PaneIndex pane = grid_.IndexOf(position);
  for (size_t i = 0; i < cells.size(); ++i) {
    const double value = values[cells[i]];
    if (!IsMissing(value)) Push(&columns_[columns[i]], pane, value);
  }
}

double SketchWindow::ValueOf(const Column& column, size_t bucket) {
  return column.extremes.Clamp(SketchValueOf(column.buckets[bucket]));
}

double SketchWindow::Quantile(const Column& column, double phi) {
  if (std::isnan(phi)) return NormalNan();
  if (phi < 0) return -std::numeric_limits<double>::infinity();
  if (phi > 1) return std::numeric_limits<double>::infinity();
  const double rank = phi * static_cast<double>(column.total - 1);
  const double floor = std::floor(rank);
  const auto below = static_cast<uint64_t>(floor);
  const double weight = rank - floor;
  // The search starts at the nearer end.
  size_t at = 0;
  uint64_t before = 0;  // number of samples in buckets up to `at`
  if (below < column.total / 2) {
    before = column.counts[0];
    while (before <= below) before += column.counts[++at];
  } else {
    at = column.counts.size() - 1;
    uint64_t first = column.total - column.counts[at];
    while (first > below) first -= column.counts[--at];
    before = first + column.counts[at];
  }
  const double lower = ValueOf(column, at);
  if (before <= below + 1 && at + 1 < column.buckets.size()) ++at;
  const double upper = ValueOf(column, at);
  return lower * (1 - weight) + upper * weight;
}

void SketchWindow::Read(Position tick, double phi, double* values, uint8_t* present) {
  incomplete_ = false;
  const PaneIndex last = grid_.IndexOf(tick) - panes_.delay;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    MoveTo(&column, last);
    const bool short_of_samples = column.lost_pane != PaneIndex::Min() &&
                                  (panes_.count == 0 || column.lost_pane > last - panes_.count);
    incomplete_ |= short_of_samples;
    present[i] = column.total > 0 && !short_of_samples ? 1 : 0;
    values[i] = present[i] != 0 ? Quantile(column, phi) : 0;
  }
}

void SketchWindow::Remap(const std::vector<uint32_t>& keep) { KeepColumns(keep, &columns_); }

void SketchWindow::Reset() {
  for (Column& column : columns_) column = Column();
}

void SketchWindow::Save(BinaryWriter& out) const {
  out.U64(columns_.size());
  for (const Column& column : columns_) {
    out.U64(column.log.size());
    out.U64(column.entered);
    out.I64(column.front_pane.value());
    out.I64(column.lost_pane.value());
    for (uint32_t k = 0; k < column.log.size(); ++k) out.U64(column.log[k]);
    column.extremes.Save(out);
    out.U64(column.arriving.size());
    for (const auto& [pane, value] : column.arriving) {
      out.I64(pane.value());
      out.Double(value);
    }
    if (panes_.count > 0) continue;  // otherwise, the counts are recomputed from the entries
    out.U32s(column.counts);
    for (const int32_t bucket : column.buckets) out.I64(bucket);
  }
}

void SketchWindow::Load(BinaryReader& in, size_t columns) {
  LoadColumnCount(in, 4, columns, &columns_);
  for (size_t c = 0; c < columns_.size() && in.ok(); ++c) {
    Column& column = columns_[c];
    const size_t entries = in.Count(1);
    const uint64_t entered = in.U64();
    column.front_pane = PaneIndex(in.I64());
    column.lost_pane = PaneIndex(in.I64());
    if (entered > entries ||
        entries > max_entries_ + static_cast<size_t>(kMaxPanes) / kMostPanes + 1 ||
        column.front_pane.value() < kMinPosition || column.front_pane.value() > kMaxPosition) {
      in.Fail();
      return;
    }
    column.entered_pane = column.last_pane = column.front_pane;
    for (size_t k = 0; k < entries && in.ok(); ++k) {
      const uint64_t entry = in.U64();
      const auto checked = static_cast<uint32_t>(entry);
      if (entry > UINT32_MAX ||
          (HasSamples(checked) && (BucketOf(checked) < kNan || BucketOf(checked) > kInfinity))) {
        in.Fail();
        return;
      }
      column.log.PushBack(checked);
      column.last_pane = column.last_pane + PanesOf(checked);
      if (k >= entered) continue;
      ++column.entered;
      column.entered_pane = column.entered_pane + PanesOf(checked);
      if (panes_.count > 0 && HasSamples(checked))
        Count(&column, BucketOf(checked), EqualsOf(checked));
    }
    column.extremes.Load(in);
    for (size_t k = in.Count(9); k > 0 && in.ok(); --k) {
      const PaneIndex pane(in.I64());
      column.arriving.emplace_back(pane, in.Double());
    }
    if (column.arriving.size() > max_entries_) in.Fail();
    if (panes_.count > 0) continue;
    column.counts = in.U32s();
    int64_t before = int64_t{kNan} - 1;
    for (const uint32_t count : column.counts) {
      const int64_t bucket = in.I64();
      if (count == 0 || bucket <= before || bucket > kInfinity) in.Fail();
      before = bucket;
      column.buckets.push_back(static_cast<int32_t>(bucket));
      column.total += count;
    }
  }
}

size_t SketchWindow::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) {
    bytes += (column.log.Capacity() + column.counts.capacity()) * sizeof(uint32_t) +
             column.buckets.capacity() * sizeof(int32_t) + column.extremes.MemoryBytes() +
             column.arriving.size() * sizeof(column.arriving[0]);
  }
  return bytes;
}

}  // namespace pitwall::window
