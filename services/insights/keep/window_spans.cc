// Spans of a sealed window.
//
// Table "spans": by slice of 10 s, origin, kind and start. The start of a span is written as the
// distance to the end of the one before it of the same slice, origin and kind: phases follow each
// other, so that it is mostly 0. "span-index" has a row for each group of them, by which a
// question leaves most groups out. "span-totals" adds up what is equal.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "services/insights/keep/window_writing.h"

namespace pitwall::insights {
namespace {

using store::ColumnRows;
using store::TableKind;
using enum store::ColumnType;

constexpr int64_t kSliceNs = 10 * kNanosPerSecond;
constexpr size_t kOldColumns = 8;  // of segments that were written by start alone

// Without overflow, and Plus undoes Minus.
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

struct SpanColumns {
  std::vector<int64_t> slice, gap, length, origin, kind, step, sequence;
  std::vector<std::string> name, mode;
};

// What one group holds, as its row of the index has it.
struct GroupIndex {
  std::vector<int64_t> slice, least_start, greatest_end, least_step, greatest_step;
};

Status WriteTotals(const std::vector<KeptSpan>& spans, WindowWriting* w) {
  using Key = std::tuple<size_t, int64_t, std::string>;  // origin, kind, name
  std::map<Key, OperatorTotal> totals;
  for (const KeptSpan& s : spans) {
    // One that ends before it begins may begin after the window: then each is to be looked at.
    if (s.span.start_ns < 0 || s.span.end_ns < s.span.start_ns) return OkStatus();
    AddTo(&totals[{w->OriginOf(s.origin), static_cast<int64_t>(s.span.kind), s.span.name}],
          s.span.end_ns - s.span.start_ns);
  }
  std::vector<int64_t> zero(totals.size(), 0), origin, kind, count, sum, least, greatest;
  std::vector<std::string> name;
  for (const auto& [key, total] : totals) {
    origin.push_back(static_cast<int64_t>(std::get<0>(key)));
    kind.push_back(std::get<1>(key));
    name.push_back(std::get<2>(key));
    count.push_back(static_cast<int64_t>(total.count));
    sum.push_back(total.total_ns);
    least.push_back(total.min_ns);
    greatest.push_back(total.max_ns);
  }
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kSpans, "span-totals",
                                    {kInt, kInt, kInt, kInt, kInt, kInt, kInt, kText}));
  return AddInGroups(w->out, table, name.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
    return std::vector<ColumnRows>{Part(zero, from, to),     Part(origin, from, to),
                                   Part(kind, from, to),     Part(count, from, to),
                                   Part(sum, from, to),      Part(least, from, to),
                                   Part(greatest, from, to), Part(name, from, to)};
  });
}

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

Status WriteSpans(const std::vector<KeptSpan>& spans, WindowWriting* w) {
  if (spans.empty()) return OkStatus();
  std::vector<const KeptSpan*> order;
  order.reserve(spans.size());
  for (const KeptSpan& s : spans) order.push_back(&s);
  // Starts are what a source says: any number.
  const auto slice_of = [](const KeptSpan* s) {
    return s->span.start_ns < 0 ? 0 : FloorTo(s->span.start_ns, kSliceNs);
  };
  const auto rest = [](const KeptSpan* s) {
    return std::tie(s->origin->source, s->origin->boot, s->span.kind, s->span.start_ns,
                    s->sequence);
  };
  std::stable_sort(order.begin(), order.end(), [&](const KeptSpan* a, const KeptSpan* b) {
    const int64_t x = slice_of(a), y = slice_of(b);
    return x != y ? x < y : rest(a) < rest(b);
  });
  SpanColumns c;
  GroupIndex index;
  const KeptSpan* before = nullptr;
  for (size_t i = 0; i < order.size(); ++i) {
    const KeptSpan& s = *order[i];
    const int64_t slice = slice_of(&s);
    const auto origin = static_cast<int64_t>(w->OriginOf(s.origin));
    const bool first = i % store::kMaxGroupRows == 0;  // a group is read alone
    if (first || c.slice.back() != slice || c.origin.back() != origin ||
        before->span.kind != s.span.kind) {
      before = nullptr;
    }
    c.slice.push_back(slice);
    c.gap.push_back(Minus(s.span.start_ns, before == nullptr ? slice : before->span.end_ns));
    c.length.push_back(Minus(s.span.end_ns, s.span.start_ns));
    c.origin.push_back(origin);
    c.kind.push_back(static_cast<int64_t>(s.span.kind));
    c.step.push_back(s.span.step);
    c.sequence.push_back(s.sequence);
    c.name.push_back(s.span.name);
    c.mode.push_back(s.span.mode);
    before = &s;
    const int64_t end = std::max(s.span.start_ns, s.span.end_ns);
    if (first) {
      index.slice.push_back(slice);
      index.least_start.push_back(s.span.start_ns);
      index.greatest_end.push_back(end);
      index.least_step.push_back(s.span.step);
      index.greatest_step.push_back(s.span.step);
    }
    index.least_start.back() = std::min(index.least_start.back(), s.span.start_ns);
    index.greatest_end.back() = std::max(index.greatest_end.back(), end);
    index.least_step.back() = std::min(index.least_step.back(), s.span.step);
    index.greatest_step.back() = std::max(index.greatest_step.back(), s.span.step);
  }
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kSpans, "spans",
                                    {kInt, kInt, kInt, kInt, kInt, kInt, kInt, kText, kText}));
  RETURN_IF_ERROR(
      AddInGroups(w->out, table, order.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
        return std::vector<ColumnRows>{
            Part(c.slice, from, to),    Part(c.gap, from, to),  Part(c.length, from, to),
            Part(c.origin, from, to),   Part(c.kind, from, to), Part(c.step, from, to),
            Part(c.sequence, from, to), Part(c.name, from, to), Part(c.mode, from, to)};
      }));
  ASSIGN_OR_RETURN(const size_t index_table, w->out->AddTable(TableKind::kSpans, "span-index",
                                                              {kInt, kInt, kInt, kInt, kInt}));
  RETURN_IF_ERROR(AddInGroups(
      w->out, index_table, index.slice.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
        return std::vector<ColumnRows>{
            Part(index.slice, from, to), Part(index.least_start, from, to),
            Part(index.greatest_end, from, to), Part(index.least_step, from, to),
            Part(index.greatest_step, from, to)};
      }));
  return WriteTotals(spans, w);
}

StatusOr<std::vector<bool>> WindowSegment::GroupsOf(const SpanBounds& bounds) const {
  std::vector<bool> wanted(spans_->groups.size(), true);
  if (span_index_ == nullptr) return wanted;
  std::array<std::vector<int64_t>, 4> rows;
  for (size_t g = 0; g < span_index_->groups.size(); ++g) {
    for (size_t c = 0; c < rows.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*span_index_, g, 1 + c, &rows[c]));
  }
  if (rows[0].size() != wanted.size()) return Damaged("an index of other spans");
  for (size_t g = 0; g < wanted.size(); ++g) {
    wanted[g] = rows[0][g] < bounds.range.to_ns && rows[1][g] >= bounds.range.from_ns &&
                rows[2][g] < bounds.to_step && rows[3][g] >= bounds.from_step;
  }
  return wanted;
}

Status WindowSegment::ReadSpans(const SpanBounds& bounds, std::vector<KeptSpan>* out) const {
  if (spans_ == nullptr) return OkStatus();
  const size_t columns = spans_->columns.size();
  if (columns != kOldColumns && columns != kOldColumns + 1) return Damaged("its spans");
  const size_t texts_at = columns - 2;
  ASSIGN_OR_RETURN(const std::vector<bool> groups, GroupsOf(bounds));
  for (size_t g = 0; g < spans_->groups.size(); ++g) {
    if (!groups[g]) continue;
    std::array<std::vector<int64_t>, 7> ints;
    std::array<std::vector<std::string>, 2> texts;
    // The old layout has starts in place of slices and gaps.
    const size_t skipped = columns == kOldColumns ? 1 : 0;
    for (size_t c = 0; c < texts_at; ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*spans_, g, c, &ints[c == 0 ? 0 : c + skipped]));
    for (size_t c = 0; c < texts.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadTexts(*spans_, g, texts_at + c, &texts[c]));
    auto& [first, gap, length, origin, kind, step, sequence] = ints;
    if (skipped == 0) {
      int64_t end = 0;
      std::vector<int64_t> starts(first.size());
      for (size_t row = 0; row < first.size(); ++row) {
        const bool follows = row > 0 && first[row] == first[row - 1] &&
                             origin[row] == origin[row - 1] && kind[row] == kind[row - 1];
        starts[row] = Plus(gap[row], follows ? end : first[row]);
        end = Plus(starts[row], length[row]);
      }
      first = std::move(starts);
    }
    for (size_t row = 0; row < first.size(); ++row) {
      KeptSpan s;
      ASSIGN_OR_RETURN(s.origin, OriginAt(origin[row]));
      s.sequence = sequence[row];
      s.span.kind = static_cast<Span::Kind>(kind[row]);
      s.span.name = std::move(texts[0][row]);
      s.span.start_ns = first[row];
      s.span.end_ns = Plus(first[row], length[row]);
      s.span.step = step[row];
      s.span.mode = std::move(texts[1][row]);
      out->push_back(std::move(s));
    }
  }
  return OkStatus();
}

StatusOr<bool> WindowSegment::ReadTotals(
    const std::function<void(const Origin&, OperatorTotal)>& take) const {
  if (spans_ == nullptr) return true;
  if (span_totals_ == nullptr) return false;
  for (size_t g = 0; g < span_totals_->groups.size(); ++g) {
    std::array<std::vector<int64_t>, 6> ints;
    std::vector<std::string> names;
    for (size_t c = 0; c < ints.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*span_totals_, g, 1 + c, &ints[c]));
    RETURN_IF_ERROR(reader_->ReadTexts(*span_totals_, g, 7, &names));
    for (size_t row = 0; row < names.size(); ++row) {
      ASSIGN_OR_RETURN(const OriginPtr origin, OriginAt(ints[0][row]));
      OperatorTotal total;
      total.rank = origin->rank;
      total.kind = static_cast<Span::Kind>(ints[1][row]);
      total.name = std::move(names[row]);
      total.count = static_cast<uint64_t>(ints[2][row]);
      total.total_ns = ints[3][row];
      total.min_ns = ints[4][row];
      total.max_ns = ints[5][row];
      take(*origin, std::move(total));
    }
  }
  return true;
}

}  // namespace pitwall::insights
