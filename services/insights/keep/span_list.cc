#include "services/insights/keep/span_list.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace pitwall::insights {

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

void SpanList::Add(const SpanView& span) {
  rows_.push_back(Row{span.start_ns, span.end_ns, span.step, span.sequence, OriginOf(span.origin),
                      TextOf(span.name), TextOf(span.mode), span.kind});
}

void SpanList::Append(const SpanList& other) {
  rows_.reserve(rows_.size() + other.size());
  for (size_t i = 0; i < other.size(); ++i) Add(other[i]);
}

SpanView SpanList::operator[](size_t i) const {
  const Row& row = rows_[i];
  return {origins_[row.origin], row.kind,   texts_[row.name], texts_[row.mode],
          row.start_ns,         row.end_ns, row.step,         row.sequence};
}

std::vector<uint32_t> SpanList::Sorted(int64_t (*slice_of)(int64_t start_ns)) const {
  // Places of origins in their order, so that a comparison compares numbers.
  std::vector<uint32_t> order(origins_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [this](uint32_t i) { return std::tie(origins_[i]->source, origins_[i]->boot); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> place(origins_.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    // Two objects of one boot are one origin.
    const bool same = i > 0 && key(order[i]) == key(order[i - 1]);
    place[order[i]] = same ? place[order[i - 1]] : i;
  }
  struct Entry {
    int64_t slice, start_ns, sequence;
    uint32_t origin, index;
    Span::Kind kind;
  };
  std::vector<Entry> entries;
  entries.reserve(rows_.size());
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    entries.push_back(
        {slice_of(row.start_ns), row.start_ns, row.sequence, place[row.origin], i, row.kind});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.slice, a.origin, a.kind, a.start_ns, a.sequence, a.index) <
           std::tie(b.slice, b.origin, b.kind, b.start_ns, b.sequence, b.index);
  });
  std::vector<uint32_t> out;
  out.reserve(entries.size());
  for (const Entry& entry : entries) out.push_back(entry.index);
  return out;
}

}  // namespace pitwall::insights
