#include "services/window/ordered/ordered_columns.h"

#include <algorithm>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

constexpr size_t kMaxTrackers = 8;
// A tracker is dropped after this many panes without a read.
constexpr int64_t kUnread = 256;

}  // namespace

void OrderedColumns::Resize(size_t columns) {
  if (columns <= counts_.size()) return;
  counts_.resize(columns);
  overflowed_.Resize(columns);
  if (sorting_) sorted_.Resize(columns);
  for (RankTracker& tracker : trackers_) tracker.Resize(columns);
}

void OrderedColumns::Clear(PaneIndex cursor) {
  std::fill(counts_.begin(), counts_.end(), 0);
  sorted_.Clear();
  for (RankTracker& tracker : trackers_) {
    tracker.Clear();
    tracker.read_at = cursor;
  }
}

void OrderedColumns::Overflow(size_t column) {
  if (!overflowed_.Add(column)) return;
  counts_[column] = 0;
  if (sorting_) sorted_.ClearColumn(column);
  for (RankTracker& tracker : trackers_) tracker.ClearColumn(column);
}

void OrderedColumns::Insert(size_t column, double value) {
  if (overflowed_.Has(column)) return;
  if (counts_[column] >= max_samples_) {
    Overflow(column);
    return;
  }
  ++counts_[column];
  const int64_t key = KeyOf(value);
  for (RankTracker& tracker : trackers_) tracker.Insert(column, key, counts_[column]);
  if (sorting_) sorted_.Insert(column, key);
}

void OrderedColumns::Remove(size_t column, double value) {
  if (overflowed_.Has(column) || counts_[column] == 0) return;
  --counts_[column];
  const int64_t key = KeyOf(value);
  for (RankTracker& tracker : trackers_) tracker.Remove(column, key);
  if (sorting_) sorted_.Remove(column, key);
}

void OrderedColumns::Append(size_t column, double value) {
  if (counts_[column] >= max_samples_) {
    Overflow(column);
    return;
  }
  ++counts_[column];
  if (sorting_) sorted_.Append(column, KeyOf(value));
}

void OrderedColumns::Remap(const std::vector<uint32_t>& keep) {
  overflowed_.Remap(keep);
  counts_.assign(keep.size(), 0);
  if (sorting_) {
    sorted_.Clear();
    sorted_.Resize(keep.size());
  }
  for (RankTracker& tracker : trackers_) {
    tracker.Resize(keep.size());
    tracker.Clear();
  }
}

void OrderedColumns::BeginSorting() {
  sorting_ = true;
  trackers_.clear();
  sorted_.Resize(counts_.size());
}

RankTracker& OrderedColumns::TrackerOf(double phi, PaneIndex cursor) {
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
  at->read_at = cursor;
  return *at;
}

void OrderedColumns::ForgetUnread(PaneIndex cursor) {
  std::erase_if(trackers_, [cursor](const RankTracker& tracker) {
    return tracker.read_at < cursor - kUnread;
  });
}

void OrderedColumns::Load(BinaryReader& in, size_t columns) {
  counts_.clear();
  Resize(columns);
  overflowed_.Load(in, columns);
}

size_t OrderedColumns::MemoryBytes() const {
  size_t bytes = counts_.capacity() * (sizeof(uint32_t) + sizeof(uint8_t)) + sorted_.MemoryBytes();
  for (const RankTracker& tracker : trackers_) bytes += tracker.MemoryBytes();
  return bytes;
}

}  // namespace pitwall::window
