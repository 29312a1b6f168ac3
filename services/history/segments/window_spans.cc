// Spans of a sealed window.
//
// Table "span-ends" is sorted by 10-second slice, origin, kind, and start. The start of a span is
// stored as the distance from the end of the previous span with the same slice, origin, and kind.
// The distance is mostly 0, because phases follow each other. Most spans end at the time of a row
// from the same source (a phase change or a step's metrics). "span-metrics" identifies the table of
// these rows by kind. The length is stored as the distance from the first such time after the
// start. If no such time exists, it is stored as the distance from the usual length of earlier
// spans with that name. "span-index" has a row for each group of spans. Queries use it to skip most
// groups. Equal spans are totaled in the metric pages (span_totals.h).
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "services/base/wrapping.h"
#include "services/history/segments/segment_builder.h"

namespace pitwall::history {
namespace {

using store::ColumnRows;
using store::TableKind;
using Single = SegmentTables::Single;
using enum store::ColumnType;

constexpr int64_t kSliceNs = 10 * kNanosPerSecond;
constexpr size_t kNumbers = 7;  // integer columns of a span, before its name and mode

// Expected span lengths by name within a group, across all ranks.
class UsualLengths {
 public:
  // Returns the expected length for the name with this number.
  int64_t Of(size_t name) {
    if (name >= means_.size()) means_.resize(name + 1, 0);
    return means_[name];
  }
  void Update(size_t name, int64_t length) {
    const int64_t mean = means_[name];
    means_[name] = Plus(mean, mean == 0 ? length : Minus(length, mean) / 4);
  }

 private:
  std::vector<int64_t> means_;
};

constexpr size_t kKinds = 3;
constexpr size_t kTrialSpans = 1 << 15;  // number of spans that are sampled to choose the metrics

// Row times of one origin and metric. Most lookups are in time order.
class NextTimes {
 public:
  // Adds times. They must outlive this object.
  void Add(std::span<const int64_t> times) {
    if (times.empty()) return;
    if (times_.empty()) {
      times_ = times;
      return;
    }
    if (own_.empty()) own_.assign(times_.begin(), times_.end());
    const auto middle = static_cast<ptrdiff_t>(own_.size());
    own_.insert(own_.end(), times.begin(), times.end());
    std::inplace_merge(own_.begin(), own_.begin() + middle, own_.end());
    times_ = own_;
  }
  // Finds the first time after `start`. Returns false if there is no such time.
  bool After(int64_t start, int64_t* next) {
    if (at_ > 0 && times_[at_ - 1] > start) at_ = 0;
    for (int i = 0; i < 2 && at_ < times_.size() && times_[at_] <= start; ++i) ++at_;
    if (at_ < times_.size() && times_[at_] <= start) {
      const auto from = times_.begin() + static_cast<ptrdiff_t>(at_);
      at_ = static_cast<size_t>(std::upper_bound(from, times_.end(), start) - times_.begin());
    }
    if (at_ == times_.size()) return false;
    *next = times_[at_];
    return true;
  }

 private:
  std::span<const int64_t> times_;  // ascending
  std::vector<int64_t> own_;        // merged copy, if the times come from several tables
  size_t at_ = 0;                   // all times before this index are at or before the last query
};

// End times of spans, derived from the rows of the window being written.
class RowEnds {
 public:
  // `rows` must outlive this object.
  explicit RowEnds(const std::vector<RowTimes>& rows) {
    for (const RowTimes& table : rows) next_[table.origin][table.metric].Add(table.times);
  }
  // Counts matches for one span. Call this for a sample of spans to choose a metric for each kind.
  void Try(size_t origin, const SpanView& span) {
    const auto kind = static_cast<size_t>(span.kind);
    ++tried_[kind];
    for (auto& [metric, times] : next_[origin]) {
      int64_t next = 0;
      if (times.After(span.start_ns, &next) && next == span.end_ns) ++right_[{kind, metric}];
    }
  }
  void Choose() {
    std::array<size_t, kKinds> most = {};
    for (const auto& [key, count] : right_) {
      const auto& [kind, metric] = key;
      if (count <= most[kind] || count * 2 < tried_[kind]) continue;
      most[kind] = count;
      chosen_[kind] = metric;
    }
  }
  const std::array<std::string, kKinds>& chosen() const { return chosen_; }
  void After(size_t origin, Span::Kind kind, int64_t start, int64_t* next) {
    if (std::pair(origin, kind) != last_key_) {
      last_key_ = {origin, kind};
      last_ = Find(origin, chosen_[static_cast<size_t>(kind)]);
    }
    if (last_ != nullptr) last_->After(start, next);
  }

 private:
  NextTimes* Find(size_t origin, std::string_view metric) {
    const auto of_origin = next_.find(origin);
    if (of_origin == next_.end()) return nullptr;
    const auto times = of_origin->second.find(metric);
    return times == of_origin->second.end() ? nullptr : &times->second;
  }

  absl::flat_hash_map<size_t, std::map<std::string_view, NextTimes>> next_;
  std::pair<size_t, Span::Kind> last_key_ = {SIZE_MAX, Span::Kind::kStep};
  NextTimes* last_ = nullptr;  // entry of the last key
  std::array<size_t, kKinds> tried_ = {};
  std::map<std::pair<size_t, std::string_view>, size_t> right_;  // matches by kind and metric
  std::array<std::string, kKinds> chosen_;
};

// Columns for the spans in one group.
struct SpanColumns {
  std::vector<int64_t> slice, gap, length, origin, kind, step, sequence;
  std::vector<std::string> name, mode;
};

// Starts come from the source and can have any value.
int64_t SliceOf(int64_t start_ns) { return start_ns < 0 ? 0 : FloorTo(start_ns, kSliceNs); }

}  // namespace

std::string_view MetricOf(const Schema& schema) {
  return schema.series.empty() ? std::string_view() : schema.series[0].labels.Name();
}

Status WriteSpans(const SpanLists& spans, const std::vector<RowTimes>& rows, SegmentBuilder* w) {
  if (spans.size() == 0) return OkStatus();
  const std::vector<uint32_t> order = spans.Sorted(SliceOf);
  RowEnds ends(rows);
  for (size_t i = 0; i < std::min(order.size(), kTrialSpans); ++i)
    ends.Try(w->OriginOf(spans[order[i]].origin), spans[order[i]]);
  ends.Choose();
  const std::vector<int64_t> kinds = {0, 1, 2};
  const std::vector<std::string> metrics(ends.chosen().begin(), ends.chosen().end());
  ASSIGN_OR_RETURN(const size_t metrics_table,
                   w->out->AddTable(TableKind::kSpans, "span-metrics", {kInt, kText}));
  const std::vector<ColumnRows> chosen = {Part(kinds, 0, kKinds), Part(metrics, 0, kKinds)};
  RETURN_IF_ERROR(w->out->AddRows(metrics_table, chosen, nullptr));
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kSpans, "span-ends",
                                    {kInt, kInt, kInt, kInt, kInt, kInt, kInt, kText, kText}));
  std::array<std::vector<int64_t>, 5> index;  // bounds of each group
  SpanColumns c;
  const Origin* last_origin = nullptr;
  int64_t origin = 0;
  for (size_t from = 0; from < order.size(); from += store::kMaxGroupRows) {
    const size_t to = std::min(order.size(), from + store::kMaxGroupRows);
    for (auto* column : {&c.slice, &c.gap, &c.length, &c.origin, &c.kind, &c.step, &c.sequence})
      column->clear();
    c.name.clear();
    c.mode.clear();
    int64_t least_start = INT64_MAX, greatest_end = INT64_MIN;
    int64_t least_step = INT64_MAX, greatest_step = INT64_MIN;
    int64_t end_before = 0;
    UsualLengths usual;
    absl::flat_hash_map<std::string_view, size_t> names;  // in order of first occurrence in a span
    for (size_t i = from; i < to; ++i) {
      const SpanView s = spans[order[i]];
      if (s.origin.get() != last_origin) {
        last_origin = s.origin.get();
        origin = static_cast<int64_t>(w->OriginOf(s.origin));
      }
      const int64_t slice = SliceOf(s.start_ns);
      const auto kind = static_cast<int64_t>(s.kind);
      // Each group must be decodable independently of the other groups.
      const bool follows =
          i > from && c.slice.back() == slice && c.origin.back() == origin && c.kind.back() == kind;
      c.slice.push_back(slice);
      c.gap.push_back(Minus(s.start_ns, follows ? end_before : slice));
      const size_t name = names.try_emplace(s.name, names.size()).first->second;
      const int64_t length = Minus(s.end_ns, s.start_ns);
      int64_t end = Plus(s.start_ns, usual.Of(name));
      ends.After(static_cast<size_t>(origin), s.kind, s.start_ns, &end);
      c.length.push_back(Minus(s.end_ns, end));
      usual.Update(name, length);
      c.origin.push_back(origin);
      c.kind.push_back(kind);
      c.step.push_back(s.step);
      c.sequence.push_back(s.sequence);
      c.name.emplace_back(s.name);
      c.mode.emplace_back(s.mode);
      end_before = s.end_ns;
      least_start = std::min(least_start, s.start_ns);
      greatest_end = std::max({greatest_end, s.start_ns, s.end_ns});
      least_step = std::min(least_step, s.step);
      greatest_step = std::max(greatest_step, s.step);
    }
    const int64_t bounds[] = {c.slice.front(), least_start, greatest_end, least_step,
                              greatest_step};
    for (size_t i = 0; i < index.size(); ++i) index[i].push_back(bounds[i]);
    const size_t n = to - from;
    const std::vector<ColumnRows> columns = {
        Part(c.slice, 0, n),    Part(c.gap, 0, n),  Part(c.length, 0, n),
        Part(c.origin, 0, n),   Part(c.kind, 0, n), Part(c.step, 0, n),
        Part(c.sequence, 0, n), Part(c.name, 0, n), Part(c.mode, 0, n)};
    RETURN_IF_ERROR(w->out->AddRows(table, columns, nullptr));
  }
  return AddIntTable(w->out, TableKind::kSpans, "span-index", index);
}

namespace {

// Row times that mark the ends of spans of one kind.
class SpanEnds {
 public:
  // The arguments must outlive this object.
  SpanEnds(const SegmentTables* tables, const WindowDescription* window, const RowTables* rows,
           bool keep)
      : tables_(*tables), window_(*window), rows_(*rows), keep_(keep) {}
  Status Prepare() {
    ASSIGN_OR_RETURN(const store::TablePtr table, tables_.At(Single::kSpanMetrics));
    if (table == nullptr) return OkStatus();
    if (table->groups.size() != 1 || table->columns.size() != 2)
      return tables_.Damaged("malformed span metric table");
    std::vector<std::string> metrics;
    RETURN_IF_ERROR(tables_.reader().ReadTexts(*table, 0, 1, &metrics));
    if (metrics.size() != kKinds) return tables_.Damaged("malformed span metric table");
    known_.resize(window_.origins().size() * kKinds);
    for (const SegmentTables::Place& place : tables_.rows()) {
      const std::string_view metric = MetricOf(*window_.schemas()[place.schema]);
      for (size_t kind = 0; kind < kKinds; ++kind) {
        if (!metric.empty() && metrics[kind] == metric)
          known_[place.origin * kKinds + kind].places.push_back(&place);
      }
    }
    return OkStatus();
  }
  // Sets *next to the first row time after `start`. Leaves *next unchanged if no time is known.
  Status After(size_t origin, int64_t kind, int64_t start, int64_t* next) {
    if (known_.empty() || kind < 0 || kind >= static_cast<int64_t>(kKinds)) return OkStatus();
    Known& known = known_[origin * kKinds + static_cast<size_t>(kind)];
    if (!known.read) {
      known.read = true;
      for (const SegmentTables::Place* place : known.places) {
        ASSIGN_OR_RETURN(DecodedColumnPtr times, rows_.ReadRowTimes(*place, keep_));
        known.next.Add(times->ints);
        times_.push_back(std::move(times));
      }
    }
    known.next.After(start, next);
    return OkStatus();
  }

 private:
  struct Known {
    bool read = false;
    std::vector<const SegmentTables::Place*> places;
    NextTimes next;
  };
  const SegmentTables& tables_;
  const WindowDescription& window_;
  const RowTables& rows_;
  const bool keep_;           // whether to cache the decoded columns
  std::vector<Known> known_;  // by origin and kind
  std::vector<DecodedColumnPtr> times_;
};

// Returns, by group, whether the group may contain matching spans.
StatusOr<std::vector<bool>> GroupsOf(const SegmentTables& tables, const SpanBounds& bounds,
                                     size_t groups) {
  std::vector<bool> wanted(groups, true);
  if (!tables.Has(Single::kSpanIndex)) return wanted;
  std::array<std::vector<int64_t>, 4> rows;
  RETURN_IF_ERROR(tables.ReadInts(Single::kSpanIndex, 1, rows));
  if (rows[0].size() != wanted.size())
    return tables.Damaged("span index that does not match the spans");
  for (size_t g = 0; g < wanted.size(); ++g) {
    wanted[g] = rows[0][g] < bounds.range.to_ns && rows[1][g] >= bounds.range.from_ns &&
                rows[2][g] < bounds.to_step && rows[3][g] >= bounds.from_step;
  }
  return wanted;
}

}  // namespace

Status WindowSegment::ReadSpans(const SpanBounds& bounds, SpanList* out, bool keep) const {
  ASSIGN_OR_RETURN(const store::TablePtr spans, tables_.At(Single::kSpans));
  if (spans == nullptr) return OkStatus();
  if (spans->columns.size() != kNumbers + 2) return tables_.Damaged("malformed span table");
  ASSIGN_OR_RETURN(const std::vector<bool> groups, GroupsOf(tables_, bounds, spans->groups.size()));
  constexpr uint32_t kUnknown = UINT32_MAX;
  std::vector<uint32_t> origins(window_.origins().size(),
                                kUnknown);  // number of each origin in `out`
  SpanEnds ends(&tables_, &window_, &rows_, keep);
  RETURN_IF_ERROR(ends.Prepare());
  for (size_t g = 0; g < spans->groups.size(); ++g) {
    if (!groups[g]) continue;
    std::array<std::vector<int64_t>, kNumbers> ints;
    std::array<std::vector<std::string>, 2> distinct;
    std::array<std::vector<int64_t>, 2> texts;
    std::array<std::vector<uint32_t>, 2> numbers;  // numbers of the strings in `out`
    for (size_t c = 0; c < kNumbers; ++c)
      RETURN_IF_ERROR(tables_.reader().ReadInts(*spans, g, c, &ints[c]));
    for (size_t c = 0; c < texts.size(); ++c) {
      RETURN_IF_ERROR(tables_.reader().ReadTexts(*spans, g, kNumbers + c, &distinct[c], &texts[c]));
      for (const std::string& text : distinct[c]) numbers[c].push_back(out->TextOf(text));
    }
    auto& [slice, gap, length, origin, kind, step, sequence] = ints;
    UsualLengths usual;
    int64_t end = 0;
    for (size_t row = 0; row < slice.size(); ++row) {
      const auto name = static_cast<size_t>(texts[0][row]);
      const bool follows = row > 0 && slice[row] == slice[row - 1] &&
                           origin[row] == origin[row - 1] && kind[row] == kind[row - 1];
      const int64_t start = Plus(gap[row], follows ? end : slice[row]);
      ASSIGN_OR_RETURN(const OriginPtr* of, window_.OriginAt(origin[row]));
      int64_t expected = Plus(start, usual.Of(name));
      RETURN_IF_ERROR(ends.After(static_cast<size_t>(origin[row]), kind[row], start, &expected));
      end = Plus(expected, length[row]);
      usual.Update(name, Minus(end, start));
      uint32_t& number = origins[static_cast<size_t>(origin[row])];
      if (number == kUnknown) number = out->OriginOf(*of);
      out->AddRow({start, end, step[row], sequence[row], number, numbers[0][name],
                   numbers[1][static_cast<size_t>(texts[1][row])],
                   static_cast<Span::Kind>(kind[row])});
    }
  }
  return OkStatus();
}

}  // namespace pitwall::history
