#include "services/window/ordered_window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "services/model/pane_grid.h"
#include "services/model/value.h"

namespace pitwall::window {
namespace {

// Integers in the order of the doubles; all NaNs are one, before everything, as PromQL sorts them.
int64_t KeyOf(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::min();
  const auto bits = std::bit_cast<int64_t>(value);
  return bits ^ static_cast<int64_t>(static_cast<uint64_t>(bits >> 63) >> 1);
}
double ValueOf(int64_t key) {
  if (key == std::numeric_limits<int64_t>::min()) return NormalNan();
  return std::bit_cast<double>(key ^ static_cast<int64_t>(static_cast<uint64_t>(key >> 63) >> 1));
}

// First index whose key is not below `key`, without unpredictable branches.
size_t LowerBound(const std::vector<int64_t>& keys, int64_t key) {
  const int64_t* base = keys.data();
  size_t n = keys.size();
  while (n > 1) {
    const size_t half = n / 2;
    base += base[half - 1] < key ? half : 0;
    n -= half;
  }
  return static_cast<size_t>(base - keys.data()) + (n == 1 && *base < key ? 1 : 0);
}

// The arrays of many columns do not fit into the caches near the core, and a search waits for each
// miss in turn.
constexpr size_t kAhead = 6;
void Prefetch(const std::vector<int64_t>& keys) {
  constexpr size_t kLine = 64 / sizeof(int64_t), kMost = 16 * kLine;
  const size_t n = std::min(keys.size(), kMost);
  for (size_t k = 0; k < n; k += kLine) __builtin_prefetch(keys.data() + k);
}

// quantile() of Prometheus over sorted keys; phi in 0..1.
double Interpolate(const std::vector<int64_t>& keys, double phi) {
  const size_t n = keys.size();
  const double rank = phi * static_cast<double>(n - 1);
  const double floor = std::floor(rank);
  const auto below = static_cast<size_t>(floor);
  const size_t above = std::min(n - 1, below + 1);
  const double weight = rank - floor;
  return ValueOf(keys[below]) * (1 - weight) + ValueOf(keys[above]) * weight;
}

// quantile() of 0.5 over numbers in any order, NaN before everything.
double MedianOf(std::vector<double>* values) {
  std::sort(values->begin(), values->end(),
            [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  const double rank = 0.5 * static_cast<double>(values->size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(values->size() - 1, below + 1);
  const double weight = rank - std::floor(rank);
  return (*values)[below] * (1 - weight) + (*values)[above] * weight;
}

// Median of |x - m|, m the median of the sorted keys. The deviations grow from m to both sides, so
// they come in order by stepping outwards to the nearer side.
double MadOf(const std::vector<int64_t>& keys) {
  const size_t n = keys.size();
  if (std::isnan(ValueOf(keys[0]))) return NormalNan();
  const double median = Interpolate(keys, 0.5);
  if (std::isinf(ValueOf(keys[0])) || std::isinf(ValueOf(keys[n - 1]))) {  // inf - inf is NaN
    std::vector<double> deviations;
    for (const int64_t key : keys) deviations.push_back(std::fabs(ValueOf(key) - median));
    return MedianOf(&deviations);
  }
  const double rank = 0.5 * static_cast<double>(n - 1);
  const auto below = static_cast<size_t>(rank);
  const double weight = rank - std::floor(rank);
  size_t right = LowerBound(keys, KeyOf(median)), left = right;  // [0, left) and [right, n) to come
  double last = 0, before = 0;
  for (size_t taken = 0; taken <= std::min(n - 1, below + 1); ++taken) {
    const double to_left =
        left > 0 ? median - ValueOf(keys[left - 1]) : std::numeric_limits<double>::infinity();
    const double to_right =
        right < n ? ValueOf(keys[right]) - median : std::numeric_limits<double>::infinity();
    before = last;
    if (to_left <= to_right) {
      last = std::fabs(to_left);
      --left;
    } else {
      last = std::fabs(to_right);
      ++right;
    }
  }
  if (n == 1) return last;
  return before * (1 - weight) + last * weight;
}

// Calls use(column, value) for each sample of the pane.
template <typename Use>
void ForEachSample(const Pane& pane, size_t columns, Use use) {
  if (pane.form == PaneForm::kEmpty) return;
  const auto row = [&](const Row& samples) {
    const double* cells = samples.cells();
    for (size_t i = 0; i < columns; ++i) {
      if (!IsMissing(cells[i])) use(i, cells[i]);
    }
  };
  if (pane.form == PaneForm::kSingle) row(pane.values);
  if (pane.form != PaneForm::kDeep) return;
  for (const Row& samples : pane.deep->samples) row(samples);
  for (const Extra& extra : pane.deep->extras) use(extra.column, extra.value);
}

}  // namespace

namespace {

std::vector<int64_t> SortedKeys(std::span<const double> values) {
  std::vector<int64_t> keys;
  for (const double value : values) keys.push_back(KeyOf(value));
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

double QuantileOf(std::span<const double> values, double phi) {
  if (std::isnan(phi)) return NormalNan();
  if (phi < 0) return -std::numeric_limits<double>::infinity();
  if (phi > 1) return std::numeric_limits<double>::infinity();
  return Interpolate(SortedKeys(values), phi);
}

double MadOf(std::span<const double> values) { return MadOf(SortedKeys(values)); }

void OrderedWindow::Start(int64_t cursor) {
  cursor_ = cursor;
  leaving_ = entered_ = false;
  for (Column& column : columns_) column.keys.clear();
}

void OrderedWindow::Overflow(Column& column) {
  if (column.overflow) return;
  column.overflow = true;
  column.keys = {};
  ++overflows_;
}

void OrderedWindow::ForgetOverflows() {
  for (Column& column : columns_) column.overflow = false;
  overflows_ = 0;
}

void OrderedWindow::Insert(Column& column, double value) {
  if (column.overflow) return;
  if (column.keys.size() >= max_samples_) {
    Overflow(column);
    return;
  }
  const int64_t key = KeyOf(value);
  column.keys.insert(column.keys.begin() + static_cast<ptrdiff_t>(LowerBound(column.keys, key)),
                     key);
}

void OrderedWindow::Remove(Column& column, double value) {
  if (column.overflow) return;
  const int64_t key = KeyOf(value);
  const size_t at = LowerBound(column.keys, key);
  if (at < column.keys.size() && column.keys[at] == key) {
    column.keys.erase(column.keys.begin() + static_cast<ptrdiff_t>(at));
  }
}

void OrderedWindow::Replace(Column& column, double leaving, double entering) {
  if (column.overflow) return;
  std::vector<int64_t>& keys = column.keys;
  const int64_t old_key = KeyOf(leaving), new_key = KeyOf(entering);
  size_t from, to;  // `to` counts old_key where it is below new_key
  if (constexpr size_t kShort = 128; keys.size() <= kShort) {  // no branch, no chain of loads
    count_below_(keys.data(), keys.size(), old_key, new_key, &from, &to);
  } else {
    from = LowerBound(keys, old_key);
    to = LowerBound(keys, new_key);
  }
  if (from >= keys.size() || keys[from] != old_key) {
    Insert(column, entering);
    return;
  }
  const auto begin = keys.begin();
  if (to > from) {
    --to;
    std::copy(begin + static_cast<ptrdiff_t>(from + 1), begin + static_cast<ptrdiff_t>(to + 1),
              begin + static_cast<ptrdiff_t>(from));
  } else {
    std::copy_backward(begin + static_cast<ptrdiff_t>(to), begin + static_cast<ptrdiff_t>(from),
                       begin + static_cast<ptrdiff_t>(from + 1));
  }
  keys[to] = new_key;
}

bool OrderedWindow::Exchange(const Pane* leaving, const Pane& entering, const Answer* answer) {
  const size_t n = columns_.size();
  if (leaving != nullptr && leaving->form == PaneForm::kSingle &&
      entering.form == PaneForm::kSingle) {
    const double* old_cells = leaving->values.cells();
    const double* new_cells = entering.values.cells();
    for (size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) Prefetch(columns_[i + kAhead].keys);
      const bool goes = !IsMissing(old_cells[i]), comes = !IsMissing(new_cells[i]);
      if (goes && comes) {
        Replace(columns_[i], old_cells[i], new_cells[i]);
      } else if (comes) {
        Insert(columns_[i], new_cells[i]);
      } else if (goes) {
        Remove(columns_[i], old_cells[i]);
      }
      if (answer != nullptr) Give(i, *answer);
    }
    return answer != nullptr;
  }
  if (leaving != nullptr) {
    ForEachSample(*leaving, n, [&](size_t i, double value) { Remove(columns_[i], value); });
  }
  ForEachSample(entering, n, [&](size_t i, double value) { Insert(columns_[i], value); });
  if (entering.deep) {
    for (const uint32_t i : entering.deep->dropped) Overflow(columns_[i]);
  }
  return false;
}

void OrderedWindow::Give(size_t i, const Answer& answer) const {
  const std::vector<int64_t>& keys = columns_[i].keys;
  answer.present[i] = keys.empty() ? 0 : 1;
  answer.values[i] = keys.empty()    ? 0
                     : answer.inside ? Interpolate(keys, answer.phi)
                                     : answer.outside;
}

bool OrderedWindow::Sync(PaneSource& source, const Answer* answer) {
  bool answered = false;
  if (columns_.size() < source.columns()) columns_.resize(source.columns());
  const Pane& pane = source.At(cursor_);
  if (!entered_) {
    answered = Exchange(leaving_ ? &source.At(cursor_ - panes_) : nullptr, pane, answer);
    leaving_ = false;
    entered_ = true;
    version_ = pane.version;
  } else if (version_ != pane.version) {  // recorded after a read of the same tick: rare
    Rebuild(source, cursor_);
    Exchange(nullptr, pane, nullptr);
    entered_ = true;
    version_ = pane.version;
  }
  if (overflows_ > 0 && retried_ != cursor_ && FloorMod(cursor_, panes_) == 0)
    RetryOverflows(source);
  return answered;
}

void OrderedWindow::Advance(PaneSource& source) {
  Sync(source, nullptr);
  ++cursor_;
  leaving_ = true;
  entered_ = false;
}

void OrderedWindow::Fill(PaneSource& source, int64_t first, int64_t last) {
  for (int64_t k = first; k <= last; ++k) {
    ForEachSample(source.At(k), columns_.size(), [&](size_t i, double value) {
      Column& column = columns_[i];
      if (column.overflow) return;
      if (column.keys.size() >= max_samples_) {
        Overflow(column);
      } else {
        column.keys.push_back(KeyOf(value));
      }
    });
    const Pane& pane = source.At(k);
    if (pane.deep == nullptr) continue;
    for (const uint32_t i : pane.deep->dropped) Overflow(columns_[i]);
  }
  for (Column& column : columns_) std::sort(column.keys.begin(), column.keys.end());
}

void OrderedWindow::Rebuild(PaneSource& source, int64_t cursor) {
  columns_.resize(source.columns());
  Start(cursor);
  Fill(source, cursor - panes_ + 1, cursor - 1);
}

void OrderedWindow::RetryOverflows(PaneSource& source) {
  retried_ = cursor_;
  std::vector<Column> kept(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].overflow) {
      kept[i].keys.swap(columns_[i].keys);
      columns_[i].overflow = true;  // not to be filled
      kept[i].overflow = true;
    } else {
      columns_[i].overflow = false;
    }
  }
  overflows_ = 0;
  Fill(source, cursor_ - panes_ + 1, cursor_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!kept[i].overflow) continue;
    columns_[i].keys.swap(kept[i].keys);
    columns_[i].overflow = false;
  }
}

void OrderedWindow::Remap(const std::vector<uint32_t>& keep) {
  std::vector<Column> columns(keep.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < columns_.size()) columns[i] = std::move(columns_[keep[i]]);
  }
  columns_ = std::move(columns);
  overflows_ = static_cast<uint32_t>(
      std::count_if(columns_.begin(), columns_.end(), [](const Column& c) { return c.overflow; }));
}

void OrderedWindow::Read(PaneSource& source, double phi, double* values, uint8_t* present) {
  const double outside = std::isnan(phi) ? NormalNan()
                         : phi < 0       ? -std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::infinity();
  const Answer answer{phi, phi >= 0 && phi <= 1, outside, values, present};
  // The pass that brings the new samples in gives the answers too, while each array is in the
  // cache.
  if (Sync(source, &answer)) return;
  for (size_t i = 0; i < columns_.size(); ++i) Give(i, answer);
}

void OrderedWindow::ReadMad(PaneSource& source, double* values, uint8_t* present) {
  Sync(source, nullptr);
  for (size_t i = 0; i < columns_.size(); ++i) {
    present[i] = columns_[i].keys.empty() ? 0 : 1;
    values[i] = present[i] != 0 ? MadOf(columns_[i].keys) : 0;
  }
}

void OrderedWindow::Save(BinaryWriter& out) const {
  out.I64(retried_);
  std::vector<uint32_t> overflowed;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].overflow) overflowed.push_back(static_cast<uint32_t>(i));
  }
  out.U32s(overflowed);
}

void OrderedWindow::Load(BinaryReader& in, size_t columns) {
  retried_ = in.I64();
  columns_.assign(columns, {});
  overflows_ = 0;
  for (const uint32_t i : in.U32s()) {
    if (i >= columns || columns_[i].overflow) {
      in.Fail();
      return;
    }
    columns_[i].overflow = true;
    ++overflows_;
  }
}

size_t OrderedWindow::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) bytes += column.keys.capacity() * sizeof(int64_t);
  return bytes;
}

}  // namespace pitwall::window
