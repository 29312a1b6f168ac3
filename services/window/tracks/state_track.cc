#include "services/window/tracks/state_track.h"

#include <algorithm>
#include <cmath>

#include "services/model/value.h"

namespace pitwall::window {

StateTrack::Totals StateTrack::Stretch::TotalsAt(Position position) const {
  const Duration length = std::clamp(position, begin, end) - begin;
  return {before.known + length, before.on + (on ? length : Duration())};
}

void StateTrack::AddDemand(const Demand& demand) {
  keep_ = std::max(keep_, Duration::Nanos(demand.range + demand.offset));
}

void StateTrack::SetColumns(size_t columns) {
  if (columns > columns_.size()) columns_.resize(columns);
}

void StateTrack::Add(Column& column, Position position, double value) const {
  std::vector<Stretch>& list = column.list;
  Totals before;
  if (!list.empty()) {
    Stretch& last = list.back();
    last.end = std::min(last.end, position);
    if (std::isnan(value)) return;
    if (last.end == position && last.on == (value != 0)) {
      last.end = position + hold_;
      return;
    }
    before = last.TotalsAt(last.end);
  }
  if (std::isnan(value)) return;
  list.push_back({position, position + hold_, value != 0, before});
  if (list.size() >= column.limit) Shrink(column, position);
}

// Drops stretches that are before every window that ends at or after `position` minus its offset.
// Called when a list has doubled, so the amortized cost per sample does not depend on how far the
// windows look back.
void StateTrack::Shrink(Column& column, Position position) const {
  std::vector<Stretch>& list = column.list;
  size_t first = 0;
  while (first + 1 < list.size() && list[first].end <= position - keep_) ++first;
  const size_t most = max_stretches_ + max_stretches_ / 4;
  if (list.size() - first >= most) {
    first = list.size() - max_stretches_;
    column.lost = list[first - 1].end;
  }
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(first));
  column.limit = static_cast<uint32_t>(std::min(most, std::max<size_t>(16, 2 * list.size())));
}

void StateTrack::Scatter(Position position, std::span<const uint32_t> cells,
                         std::span<const uint32_t> columns, const double* values) {
  if (position <= after_) return;
  for (size_t i = 0; i < cells.size(); ++i) {
    const double value = values[cells[i]];
    if (!IsMissing(value)) Add(columns_[columns[i]], position, value);
  }
}

// Computes the share over (start, end]. If `start` is Position::Earliest(), all stretches count,
// even dropped ones.
bool StateTrack::ShareOf(const Column& column, Position start, Position end, double* share) const {
  const std::vector<Stretch>& list = column.list;
  // Returns the last stretch that starts at or before the position.
  const auto at = [&](Position position) -> const Stretch* {
    const auto next = std::upper_bound(list.begin(), list.end(), position,
                                       [](Position p, const Stretch& s) { return p < s.begin; });
    return next == list.begin() ? nullptr : &*(next - 1);
  };
  if (list.empty()) return false;
  const auto totals = [&](const Stretch* stretch, Position position) {
    // The totals before the first stretch include dropped stretches.
    return stretch != nullptr ? stretch->TotalsAt(position) : list.front().before;
  };
  const Stretch* const last = at(end);
  const Totals to = totals(last, end);
  const Totals from = start == Position::Earliest() ? Totals() : totals(at(start), start);
  if (to.known > from.known) {
    *share = static_cast<double>((to.on - from.on).ns()) /
             static_cast<double>((to.known - from.known).ns());
    return true;
  }
  // A window without known time has a result only if a sample is exactly at its end.
  if (last == nullptr || last->begin != end) return false;
  *share = last->on ? 1 : 0;
  return true;
}

void StateTrack::Read(const Demand& demand, Position tick, Position /*after*/,
                      std::span<const double> /*arguments*/, double* values, uint8_t* present) {
  incomplete_ = false;
  const Position end = tick - Duration::Nanos(demand.offset);
  const bool attempt = demand.kind == WindowKind::kAttempt;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    // The totals include dropped stretches, so an attempt needs only the stretches at its end.
    const Position start = attempt ? Position::Earliest() : end - Duration::Nanos(demand.range);
    const bool gone = column.lost > (attempt ? end : start);
    incomplete_ |= gone;
    present[c] = !gone && ShareOf(column, start, end, &values[c]) ? 1 : 0;
  }
}

void StateTrack::Remap(const std::vector<uint32_t>& keep) { KeepColumns(keep, &columns_); }

void StateTrack::Restart(Position after) {
  after_ = after;
  for (Column& column : columns_) column = Column();
}

void StateTrack::Save(BinaryWriter& out) const {
  out.I64(after_.ns());
  out.U64(columns_.size());
  for (const Column& column : columns_) {
    out.I64(column.lost.ns());
    out.U64(column.limit);
    out.U64(column.list.size());
    if (column.list.empty()) continue;
    // The totals of the other stretches follow from the totals of the first.
    out.I64(column.list.front().before.known.ns());
    out.I64(column.list.front().before.on.ns());
    for (const Stretch& stretch : column.list) {
      out.I64(stretch.begin.ns());
      out.I64((stretch.end - stretch.begin).ns());
      out.Bool(stretch.on);
    }
  }
}

void StateTrack::Load(BinaryReader& in, size_t columns) {
  const auto is_length = [](Duration d) {
    return d >= Duration::Zero() && d < Position::Latest() - Position();
  };
  after_ = Position::FromNs(in.I64());
  LoadColumnCount(in, 3, columns, &columns_);
  for (size_t c = 0; c < columns_.size() && in.ok(); ++c) {
    Column& column = columns_[c];
    column.lost = Position::FromNs(in.I64());
    const uint64_t limit = in.U64();
    const size_t stretches = in.Count(3);
    // Shrink maintains these bounds. A list that exceeded its limit would never shrink again.
    if (limit < 1 || limit > std::max<uint64_t>(16, max_stretches_ + max_stretches_ / 4) ||
        stretches > limit)
      in.Fail();
    column.limit = static_cast<uint32_t>(limit);
    if (stretches == 0) continue;
    Totals before;
    before.known = Duration::Nanos(in.I64());
    before.on = Duration::Nanos(in.I64());
    for (size_t i = 0; i < stretches && in.ok(); ++i) {
      Stretch stretch{};
      stretch.begin = Position::FromNs(in.I64());
      const Duration length = Duration::Nanos(in.I64());
      stretch.on = in.Bool();
      stretch.before = before;
      const bool inside = stretch.begin > Position::Earliest() &&
                          stretch.begin < Position::Latest() && is_length(length) &&
                          is_length(before.known) && is_length(before.on);
      if (!inside || (i > 0 && stretch.begin < column.list.back().end)) {
        in.Fail();
        break;
      }
      stretch.end = stretch.begin + length;
      before = stretch.TotalsAt(stretch.end);
      column.list.push_back(stretch);
    }
  }
}

size_t StateTrack::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) bytes += column.list.capacity() * sizeof(Stretch);
  return bytes;
}

}  // namespace pitwall::window
