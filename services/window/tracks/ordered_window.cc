#include "services/window/tracks/ordered_window.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {
namespace {

// Quantiles that are tracked at once, and the panes after which one that nobody reads is not any
// more.
constexpr size_t kMaxTrackers = 8;
constexpr int64_t kUnread = 256;

// The arrays of many columns do not fit into the caches near the core, and a search waits for each
// miss in turn.
constexpr size_t kAhead = 6;
void Prefetch(const std::vector<int64_t>& keys) {
  constexpr size_t kLine = 64 / sizeof(int64_t), kMost = 16 * kLine;
  const size_t n = std::min(keys.size(), kMost);
  for (size_t k = 0; k < n; k += kLine) __builtin_prefetch(keys.data() + k);
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

void OrderedWindow::SetColumns(size_t columns) {
  if (columns <= counts_.size()) return;
  counts_.resize(columns);
  overflow_.resize(columns);
  if (sorting_) sorted_.resize(columns);
  for (RankTracker& tracker : trackers_) tracker.Resize(columns);
}

void OrderedWindow::Start(int64_t cursor) {
  cursor_ = cursor;
  leaving_ = entered_ = false;
  std::fill(counts_.begin(), counts_.end(), 0);
  for (std::vector<int64_t>& keys : sorted_) keys.clear();
  for (RankTracker& tracker : trackers_) {
    tracker.Clear();
    tracker.read_at = cursor;
  }
}

void OrderedWindow::Overflow(size_t column) {
  if (overflow_[column]) return;
  overflow_[column] = 1;
  counts_[column] = 0;
  if (sorting_) sorted_[column] = {};
  for (RankTracker& tracker : trackers_) tracker.ClearColumn(column);
  ++overflows_;
}

void OrderedWindow::ForgetOverflows() {
  std::fill(overflow_.begin(), overflow_.end(), uint8_t{0});
  overflows_ = 0;
}

void OrderedWindow::Insert(size_t column, double value) {
  if (overflow_[column]) return;
  if (counts_[column] >= max_samples_) {
    Overflow(column);
    return;
  }
  ++counts_[column];
  const int64_t key = KeyOf(value);
  for (RankTracker& tracker : trackers_) tracker.Insert(column, key, counts_[column]);
  if (!sorting_) return;
  std::vector<int64_t>& keys = sorted_[column];
  keys.insert(keys.begin() + static_cast<ptrdiff_t>(LowerBound(keys, key)), key);
}

void OrderedWindow::Remove(size_t column, double value) {
  if (overflow_[column] || counts_[column] == 0) return;
  --counts_[column];
  const int64_t key = KeyOf(value);
  for (RankTracker& tracker : trackers_) tracker.Remove(column, key);
  if (!sorting_) return;
  std::vector<int64_t>& keys = sorted_[column];
  const size_t at = LowerBound(keys, key);
  if (at < keys.size() && keys[at] == key) keys.erase(keys.begin() + static_cast<ptrdiff_t>(at));
}

void OrderedWindow::ReplaceSorted(std::vector<int64_t>& keys, int64_t leaving, int64_t entering) {
  size_t from, to;  // `to` counts the leaving key where it is below the other
  if (constexpr size_t kShort = 128; keys.size() <= kShort) {  // no branch, no chain of loads
    count_below_(keys.data(), keys.size(), leaving, entering, &from, &to);
  } else {
    from = LowerBound(keys, leaving);
    to = LowerBound(keys, entering);
  }
  if (from >= keys.size() || keys[from] != leaving) return;  // cannot be
  const auto begin = keys.begin();
  if (to > from) {
    --to;
    std::copy(begin + static_cast<ptrdiff_t>(from + 1), begin + static_cast<ptrdiff_t>(to + 1),
              begin + static_cast<ptrdiff_t>(from));
  } else {
    std::copy_backward(begin + static_cast<ptrdiff_t>(to), begin + static_cast<ptrdiff_t>(from),
                       begin + static_cast<ptrdiff_t>(from + 1));
  }
  keys[to] = entering;
}

void OrderedWindow::ExchangeOne(size_t column, double leaving, double entering) {
  const bool goes = !IsMissing(leaving), comes = !IsMissing(entering);
  if (goes && comes && counts_[column] > 0) {  // as many as before
    const int64_t old_key = KeyOf(leaving), new_key = KeyOf(entering);
    for (RankTracker& tracker : trackers_) {
      tracker.Remove(column, old_key);
      tracker.Insert(column, new_key, counts_[column]);
    }
    if (sorting_) ReplaceSorted(sorted_[column], old_key, new_key);
    return;
  }
  if (goes) Remove(column, leaving);
  if (comes) Insert(column, entering);
}

bool OrderedWindow::Exchange(const Pane* leaving, const Pane& entering, const Answer* answer) {
  const size_t n = counts_.size();
  if (leaving != nullptr && leaving->form == PaneForm::kSingle &&
      entering.form == PaneForm::kSingle) {
    const double* old_cells = leaving->values.cells();
    const double* new_cells = entering.values.cells();
    for (size_t i = 0; i < n; ++i) {
      if (sorting_ && i + kAhead < n) Prefetch(sorted_[i + kAhead]);
      ExchangeOne(i, old_cells[i], new_cells[i]);
      if (answer != nullptr) Give(i, *answer);
    }
    return answer != nullptr;
  }
  if (leaving != nullptr) {
    ForEachSample(*leaving, n, [&](size_t i, double value) { Remove(i, value); });
  }
  ForEachSample(entering, n, [&](size_t i, double value) { Insert(i, value); });
  if (entering.deep) {
    for (const uint32_t i : entering.deep->dropped) Overflow(i);
  }
  return false;
}

bool OrderedWindow::Sync(PaneSource& source, const Answer* answer) {
  bool answered = false;
  SetColumns(source.columns());
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
  if (overflows_ > 0 && retried_ != cursor_ && FloorMod(cursor_, panes_) == 0) {
    RetryOverflows(source);
    answered = false;  // some may have a result again
  }
  return answered;
}

void OrderedWindow::Advance(PaneSource& source) {
  Sync(source, nullptr);
  ++cursor_;
  leaving_ = true;
  entered_ = false;
  std::erase_if(trackers_,
                [&](const RankTracker& tracker) { return tracker.read_at < cursor_ - kUnread; });
}

void OrderedWindow::Fill(PaneSource& source, int64_t first, int64_t last,
                         const std::vector<uint8_t>* only) {
  for (int64_t k = first; k <= last; ++k) {
    const Pane& pane = source.At(k);
    ForEachSample(pane, counts_.size(), [&](size_t i, double value) {
      if (overflow_[i] || (only != nullptr && !(*only)[i])) return;
      if (counts_[i] >= max_samples_) {
        Overflow(i);
        return;
      }
      ++counts_[i];
      if (sorting_) sorted_[i].push_back(KeyOf(value));
    });
    if (pane.deep == nullptr) continue;
    for (const uint32_t i : pane.deep->dropped) {
      if (only == nullptr || (*only)[i]) Overflow(i);
    }
  }
  for (size_t i = 0; i < sorted_.size(); ++i) {
    if (only == nullptr || (*only)[i]) std::sort(sorted_[i].begin(), sorted_[i].end());
  }
}

void OrderedWindow::Rebuild(PaneSource& source, int64_t cursor) {
  SetColumns(source.columns());
  Start(cursor);
  Fill(source, cursor - panes_ + 1, cursor - 1, nullptr);
}

void OrderedWindow::RetryOverflows(PaneSource& source) {
  retried_ = cursor_;
  const std::vector<uint8_t> again = overflow_;
  ForgetOverflows();
  Fill(source, cursor_ - panes_ + 1, cursor_, &again);
}

void OrderedWindow::Remap(const std::vector<uint32_t>& keep) {
  std::vector<uint8_t> overflow(keep.size(), 0);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < overflow_.size()) overflow[i] = overflow_[keep[i]];
  }
  overflow_ = std::move(overflow);
  overflows_ = static_cast<uint32_t>(std::count(overflow_.begin(), overflow_.end(), 1));
  counts_.assign(keep.size(), 0);
  if (sorting_) sorted_.assign(keep.size(), {});
  for (RankTracker& tracker : trackers_) {
    tracker.Resize(keep.size());
    tracker.Clear();
  }
}

RankTracker& OrderedWindow::TrackerOf(double phi) {
  auto at = std::find_if(trackers_.begin(), trackers_.end(),
                         [phi](const RankTracker& tracker) { return tracker.phi() == phi; });
  if (at == trackers_.end() && trackers_.size() < kMaxTrackers) {
    at = trackers_.emplace(trackers_.end(), phi);
    at->Resize(counts_.size());
  } else if (at == trackers_.end()) {
    at = std::min_element(
        trackers_.begin(), trackers_.end(),
        [](const RankTracker& a, const RankTracker& b) { return a.read_at < b.read_at; });
    at->Restart(phi);
  }
  at->read_at = cursor_;
  return *at;
}

void OrderedWindow::Give(size_t i, const Answer& answer) {
  answer.present[i] = counts_[i] > 0 ? 1 : 0;
  answer.values[i] = 0;
  if (counts_[i] > 0 && !answer.tracker->Get(i, counts_[i], &answer.values[i]))
    unknown_.push_back(static_cast<uint32_t>(i));
}

// A few columns at a time, so that a pane's row gives them all while it is at hand.
void OrderedWindow::LookThrough(PaneSource& source, const Answer& answer) {
  constexpr size_t kAtOnce = 64;
  if (unknown_.empty()) return;
  slots_.resize(counts_.size());
  for (size_t begin = 0; begin < unknown_.size(); begin += kAtOnce) {
    const size_t width = std::min(kAtOnce, unknown_.size() - begin);
    const uint32_t* const columns = unknown_.data() + begin;
    std::array<size_t, kAtOnce> at, end;  // of each column's keys: what is filled, and all
    size_t all = 0;
    for (size_t c = 0; c < width; ++c) {
      at[c] = all;
      end[c] = all += counts_[columns[c]];
    }
    if (keys_.size() < all) keys_.resize(all);
    const auto put = [&](size_t c, double value) {
      if (at[c] < end[c]) keys_[at[c]++] = KeyOf(value);
    };
    for (size_t c = 0; c < width; ++c) slots_[columns[c]] = static_cast<uint32_t>(c) + 1;
    const auto row = [&](const Row& samples) {
      const double* cells = samples.cells();
      for (size_t c = 0; c < width; ++c) {
        const double value = cells[columns[c]];
        if (!IsMissing(value)) put(c, value);
      }
    };
    for (int64_t k = cursor_ - panes_ + 1; k <= cursor_; ++k) {
      const Pane& pane = source.At(k);
      if (pane.form == PaneForm::kSingle) row(pane.values);
      if (pane.form != PaneForm::kDeep) continue;
      for (const Row& samples : pane.deep->samples) row(samples);
      for (const Extra& extra : pane.deep->extras) {
        if (const uint32_t slot = slots_[extra.column]; slot > 0) put(slot - 1, extra.value);
      }
    }
    for (size_t c = 0; c < width; ++c) {
      const size_t n = counts_[columns[c]];
      answer.tracker->Fill(columns[c], {keys_.data() + end[c] - n, n});
      answer.tracker->Get(columns[c], n, &answer.values[columns[c]]);
      slots_[columns[c]] = 0;
    }
  }
  unknown_.clear();
}

void OrderedWindow::Read(PaneSource& source, double phi, double* values, uint8_t* present) {
  SetColumns(source.columns());
  const size_t n = counts_.size();
  const bool inside = phi >= 0 && phi <= 1;
  if (!inside || sorting_) {
    Sync(source, nullptr);
    for (size_t i = 0; i < n; ++i) {
      present[i] = counts_[i] > 0 ? 1 : 0;
      values[i] = QuantileOutside(phi);
      if (!inside || counts_[i] == 0) continue;
      const Rank rank(phi, counts_[i]);
      values[i] = rank.Between(sorted_[i][rank.below], sorted_[i][rank.above]);
    }
    return;
  }
  const Answer answer{&TrackerOf(phi), values, present};
  // The pass that brings the new samples in gives the answers too, while each is in the cache.
  if (!Sync(source, &answer)) {
    unknown_.clear();
    for (size_t i = 0; i < n; ++i) Give(i, answer);
  }
  LookThrough(source, answer);
}

void OrderedWindow::ReadMad(PaneSource& source, double* values, uint8_t* present) {
  if (!sorting_) {
    sorting_ = true;
    trackers_.clear();
    sorted_.resize(counts_.size());
    Rebuild(source, cursor_);
  }
  Sync(source, nullptr);
  for (size_t i = 0; i < counts_.size(); ++i) {
    present[i] = counts_[i] > 0 ? 1 : 0;
    values[i] = present[i] != 0 ? MadOfSorted(sorted_[i], &deviations_) : 0;
  }
}

void OrderedWindow::Save(BinaryWriter& out) const {
  out.I64(retried_);
  std::vector<uint32_t> overflowed;
  for (size_t i = 0; i < overflow_.size(); ++i) {
    if (overflow_[i]) overflowed.push_back(static_cast<uint32_t>(i));
  }
  out.U32s(overflowed);
}

void OrderedWindow::Load(BinaryReader& in, size_t columns) {
  retried_ = in.I64();
  counts_.clear();
  overflow_.clear();
  SetColumns(columns);
  overflows_ = 0;
  for (const uint32_t i : in.U32s()) {
    if (i >= columns || overflow_[i]) {
      in.Fail();
      return;
    }
    overflow_[i] = 1;
    ++overflows_;
  }
}

size_t OrderedWindow::MemoryBytes() const {
  size_t bytes = counts_.capacity() * (sizeof(uint32_t) + sizeof(uint8_t)) +
                 sorted_.capacity() * sizeof(std::vector<int64_t>) +
                 keys_.capacity() * sizeof(int64_t);
  for (const std::vector<int64_t>& keys : sorted_) bytes += keys.capacity() * sizeof(int64_t);
  for (const RankTracker& tracker : trackers_) bytes += tracker.MemoryBytes();
  return bytes;
}

}  // namespace pitwall::window
