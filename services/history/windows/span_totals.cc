#include "services/history/windows/span_totals.h"

#include <algorithm>
#include <tuple>

#include "services/history/binary_fields.h"

namespace pitwall::history {
namespace {

constexpr int64_t kSpanKinds = 3;

}  // namespace

void AddTo(OperatorTotal* total, int64_t length_ns) {
  total->min_ns = total->count == 0 ? length_ns : std::min(total->min_ns, length_ns);
  total->max_ns = std::max(total->max_ns, length_ns);
  total->total_ns += length_ns;
  ++total->count;
}

void Merge(const OperatorTotal& other, OperatorTotal* total) {
  total->min_ns = total->count == 0 ? other.min_ns : std::min(total->min_ns, other.min_ns);
  total->max_ns = std::max(total->max_ns, other.max_ns);
  total->total_ns += other.total_ns;
  total->count += other.count;
}

void SpanTotals::Clear() {
  names_.clear();
  totals_.clear();
}

uint32_t SpanTotals::NameOf(std::string_view name) {
  const auto at = names_.find(name);
  if (at != names_.end()) return at->second;
  const auto number = static_cast<uint32_t>(names_.size());
  names_.emplace(name, number);
  return number;
}

OperatorTotal* SpanTotals::At(int64_t rank, Span::Kind kind, uint32_t name) {
  return &totals_[{rank, kind, name}];
}

std::vector<OperatorTotal> SpanTotals::Take() {
  std::vector<const std::string*> names(names_.size());
  for (const auto& [name, number] : names_) names[number] = &name;
  std::vector<OperatorTotal> out;
  out.reserve(totals_.size());
  for (auto& [key, total] : totals_) {
    total.rank = key.rank;
    total.kind = key.kind;
    total.name = *names[key.name];
    out.push_back(std::move(total));
  }
  std::sort(out.begin(), out.end(), [](const OperatorTotal& a, const OperatorTotal& b) {
    return std::tie(a.rank, a.kind, a.name) < std::tie(b.rank, b.kind, b.name);
  });
  Clear();
  return out;
}

std::optional<std::vector<OperatorTotal>> TotalsOf(const SpanLists& spans) {
  // Equal names within a list share one stable address, so the address serves as the key.
  using Place = std::tuple<const Origin*, Span::Kind, const char*>;
  struct Total {
    std::string_view name;
    OperatorTotal of;
  };
  absl::flat_hash_map<Place, Total> by_place;
  for (size_t i = 0; i < spans.size(); ++i) {
    const SpanView s = spans[i];
    // A span that ends before it starts may start after the window.
    if (s.start_ns < 0 || s.end_ns < s.start_ns) return std::nullopt;
    Total& total = by_place[{s.origin.get(), s.kind, s.name.data()}];
    total.name = s.name;
    AddTo(&total.of, s.end_ns - s.start_ns);
  }
  SpanTotals totals;
  for (const auto& [place, total] : by_place) {
    const auto& [origin, kind, text] = place;
    Merge(total.of, totals.At(origin->rank, kind, total.name));
  }
  return totals.Take();
}

std::string EncodeTotals(std::span<const OperatorTotal> totals) {
  TotalsPage page;
  absl::flat_hash_map<std::string_view, int64_t> numbers;
  for (const OperatorTotal& total : totals) {
    const auto [at, added] =
        numbers.try_emplace(total.name, static_cast<int64_t>(page.names.size()));
    if (added) page.names.push_back(total.name);
    page.ranks.push_back(total.rank);
    page.kinds.push_back(static_cast<int64_t>(total.kind));
    page.name_numbers.push_back(at->second);
    page.counts.push_back(static_cast<int64_t>(total.count));
    page.sums.push_back(total.total_ns);
    page.least.push_back(total.min_ns);
    page.greatest.push_back(total.max_ns);
  }
  BinaryWriter out;
  Put(page, &out);
  return out.Take();
}

bool DecodeTotals(std::string_view text, TotalsPage* page) {
  BinaryReader in(text);
  Take(&in, page);
  if (!in.ok() || !in.AtEnd()) return false;
  const std::vector<int64_t>* const columns[] = {
      &page->kinds, &page->name_numbers, &page->counts, &page->sums, &page->least, &page->greatest};
  const auto same = [&](const auto* column) { return column->size() == page->ranks.size(); };
  const auto within = [](const std::vector<int64_t>& numbers, int64_t end) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [end](int64_t number) { return number >= 0 && number < end; });
  };
  return std::ranges::all_of(columns, same) && within(page->kinds, kSpanKinds) &&
         within(page->name_numbers, static_cast<int64_t>(page->names.size()));
}

}  // namespace pitwall::history
