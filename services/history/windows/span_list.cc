#include "services/history/windows/span_list.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "services/base/wrapping.h"
#include "services/history/windows/bounded_growth_vector.h"

namespace pitwall::history {

uint32_t SpanList::TextOf(std::string_view text) {
  const auto at = text_index_.find(text);
  if (at != text_index_.end()) return at->second;
  const auto index = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  text_index_.emplace(texts_.back(), index);
  texts_bytes_ += text.size() + 64;
  return index;
}

uint32_t SpanList::OriginOf(const OriginPtr& origin) {
  const auto [at, added] =
      origin_index_.try_emplace(origin.get(), static_cast<uint32_t>(origins_.size()));
  if (added) origins_.push_back(origin);
  return at->second;
}

bool SpanList::Pack(const Row& row, Packed* out) {
  const auto duration = static_cast<uint64_t>(Minus(row.end_ns, row.start_ns));
  if (row.end_ns < row.start_ns || duration > UINT32_MAX || row.step < INT32_MIN ||
      row.step > INT32_MAX || row.sequence < 0 || row.sequence > UINT32_MAX ||
      row.name > UINT16_MAX || row.mode > UINT16_MAX)
    return false;
  *out = {row.start_ns,
          static_cast<uint32_t>(duration),
          static_cast<int32_t>(row.step),
          static_cast<uint32_t>(row.sequence),
          row.origin,
          static_cast<uint16_t>(row.name),
          static_cast<uint16_t>(row.mode),
          static_cast<uint8_t>(row.kind),
          false};
  return true;
}

SpanList::Row SpanList::Unpack(const Packed& packed) {
  return {packed.start_ns, Plus(packed.start_ns, packed.duration_ns),
          packed.step,     packed.sequence,
          packed.origin,   packed.name,
          packed.mode,     static_cast<Span::Kind>(packed.kind)};
}

void SpanList::AddRow(const Row& row) {
  ReserveFor(&rows_, 1, 4);
  Packed packed{};
  if (!Pack(row, &packed)) {
    packed.start_ns = row.start_ns;
    packed.sequence = static_cast<uint32_t>(wide_.size());
    packed.wide = true;
    ReserveFor(&wide_, 1, 4);
    wide_.push_back(row);
  }
  rows_.push_back(packed);
}

void SpanList::Add(const SpanView& span) {
  AddRow(Row{span.start_ns, span.end_ns, span.step, span.sequence, OriginOf(span.origin),
             TextOf(span.name), TextOf(span.mode), span.kind});
}

SpanView SpanList::operator[](size_t i) const {
  const Row row = RowAt(i);
  return {origins_[row.origin], row.kind,   texts_[row.name], texts_[row.mode],
          row.start_ns,         row.end_ns, row.step,         row.sequence};
}

SpanView SpanLists::operator[](size_t i) const {
  auto list = lists_.begin();
  for (; i >= (*list)->size(); ++list) i -= (*list)->size();
  return (**list)[i];
}

size_t SpanLists::size() const {
  size_t size = 0;
  for (const SpanList* list : lists_) size += list->size();
  return size;
}

std::vector<OriginPtr> SpanLists::Origins() const {
  std::vector<OriginPtr> out;
  for (const SpanList* list : lists_)
    out.insert(out.end(), list->origins().begin(), list->origins().end());
  return out;
}

std::vector<uint32_t> SpanLists::Sorted(int64_t (*slice_of)(int64_t start_ns)) const {
  // Rank of each origin in sort order, so that span comparisons only compare numbers.
  const std::vector<OriginPtr> origins = Origins();
  std::vector<uint32_t> order(origins.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](uint32_t i) { return std::tie(origins[i]->source, origins[i]->boot); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> place(origins.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    // Objects that describe the same boot are treated as one origin.
    const bool same = i > 0 && key(order[i]) == key(order[i - 1]);
    place[order[i]] = same ? place[order[i - 1]] : i;
  }
  // Spans are sorted one slice at a time, so that only one slice's sort keys are in memory.
  struct Slice {
    uint32_t count = 0;
    uint32_t end = 0;  // by slice: current end of its indexes in `out`
  };
  std::map<int64_t, Slice> slices;
  int64_t last_key = 0;
  Slice* last = nullptr;
  const auto slice_at = [&](int64_t start_ns) {
    const int64_t at = slice_of(start_ns);
    if (last == nullptr || at != last_key) {
      last_key = at;
      last = &slices[at];
    }
    return last;
  };
  for (const SpanList* list : lists_) {
    for (const SpanList::Packed& row : list->rows_) ++slice_at(row.start_ns)->count;
  }
  uint32_t before = 0;
  for (auto& [start, slice] : slices) {
    slice.end = before;
    before += slice.count;
  }
  std::vector<uint32_t> out(before);
  uint32_t index = 0;
  for (const SpanList* list : lists_) {
    for (const SpanList::Packed& row : list->rows_) out[slice_at(row.start_ns)->end++] = index++;
  }
  struct Entry {
    int64_t start_ns, sequence;
    uint32_t origin, index;
    Span::Kind kind;
  };
  std::vector<Entry> entries;
  for (const auto& [start, slice] : slices) {
    const auto part = std::span(out).subspan(slice.end - slice.count, slice.count);
    entries.clear();
    for (const uint32_t i : part) {
      size_t in_list = i, origins_before = 0;
      auto list = lists_.begin();
      for (; in_list >= (*list)->size(); ++list) {
        in_list -= (*list)->size();
        origins_before += (*list)->origins().size();
      }
      const SpanList::Row row = (*list)->RowAt(in_list);
      entries.push_back(
          {row.start_ns, row.sequence, place[origins_before + row.origin], i, row.kind});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.origin, a.kind, a.start_ns, a.sequence, a.index) <
             std::tie(b.origin, b.kind, b.start_ns, b.sequence, b.index);
    });
    std::transform(entries.begin(), entries.end(), part.begin(),
                   [](const Entry& entry) { return entry.index; });
  }
  return out;
}

}  // namespace pitwall::history
