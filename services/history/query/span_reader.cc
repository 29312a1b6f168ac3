// Implementation of SegmentQuery's span queries. They return spans or totals by rank, kind, and
// name.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/query/paged_series.h"
#include "services/history/query/segment_query.h"
#include "services/history/query/window_view.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/windows/span_totals.h"

namespace pitwall::history {
namespace {

constexpr size_t kSpansBetweenChecks = 4096;  // number of spans between checks for cancellation

template <typename T>
bool OneOf(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool Wanted(const SpanQuery& query, bool by_start, const SpanView& span) {
  const bool in = by_start
                      ? span.start_ns >= query.range.from_ns
                      : span.end_ns > query.range.from_ns ||
                            (span.end_ns == span.start_ns && span.start_ns >= query.range.from_ns);
  return in && span.start_ns < query.range.to_ns && OneOf(query.ranks, span.origin->rank) &&
         OneOf(query.kinds, span.kind) && (query.name.empty() || span.name == query.name) &&
         (query.mode.empty() || span.mode == query.mode) &&
         (query.from_step == kNoStep || span.step >= query.from_step) && span.step < query.to_step;
}

SpanBounds BoundsOf(const SpanQuery& query) {
  return {query.range, query.from_step, query.to_step};
}

// Returns whether totals of whole windows suffice, because the query selects only by time, rank,
// kind, and name.
bool ByTotals(const SpanQuery& query) {
  return query.mode.empty() && query.from_step == kNoStep && query.to_step == kMaxPosition;
}

Status TooMany(size_t limit) {
  return ResourceExhausted(
      Cat("spans: more than ", limit, " match; narrow the range, ranks, kinds, or steps"));
}

// Spans in a result, as references into span lists. Rows are created only for the requested page.
class FoundSpans {
 public:
  explicit FoundSpans(size_t limit) : limit_(limit) { Clear(); }
  void Clear() {
    places_.clear();
    lists_.clear();
    lists_.emplace_back();
  }
  Status Add(const SpanView& span) {
    if (places_.size() >= limit_) return TooMany(limit_);
    places_.push_back({span.start_ns, 0, static_cast<uint32_t>(lists_[0].size())});
    lists_[0].Add(span);
    return OkStatus();
  }
  template <typename Wants>
  Status AddWanted(SpanList read, Wants wants) {
    std::vector<uint32_t> hits;
    for (size_t i = 0; i < read.size(); ++i) {
      if (wants(read[i])) hits.push_back(static_cast<uint32_t>(i));
    }
    if (hits.size() > limit_ - places_.size()) return TooMany(limit_);
    // If there are few hits, they are copied, because keeping the full list takes more memory.
    if (hits.size() < read.size() / 4) {
      for (const uint32_t i : hits) RETURN_IF_ERROR(Add(read[i]));
      return OkStatus();
    }
    const auto list = static_cast<uint32_t>(lists_.size());
    for (const uint32_t i : hits) places_.push_back({read[i].start_ns, list, i});
    lists_.push_back(std::move(read));
    return OkStatus();
  }
  // Returns the rows of the page, in order.
  SpanPage Rows(size_t first, size_t most) {
    SpanPage page{{}, places_.size()};
    first = std::min(first, places_.size());
    most = std::min(most, places_.size() - first);
    const auto less = [this](const Place& x, const Place& y) { return Less(x, y); };
    const auto begin = places_.begin() + static_cast<ptrdiff_t>(first);
    const auto end = begin + static_cast<ptrdiff_t>(most);
    // Spans with equal keys are indistinguishable, so their order does not matter.
    if (begin != places_.begin() && begin != places_.end())
      std::nth_element(places_.begin(), begin, places_.end(), less);
    if (end != places_.end()) std::nth_element(begin, end, places_.end(), less);
    std::sort(begin, end, less);
    page.rows.reserve(most);
    for (auto at = begin; at != end; ++at) {
      const SpanView s = Of(*at);
      page.rows.push_back({s.origin->source, s.origin->node, s.origin->rank,
                           Span{s.kind, std::string(s.name), EventTime::FromNs(s.start_ns),
                                EventTime::FromNs(s.end_ns), s.step, std::string(s.mode)}});
    }
    return page;
  }

 private:
  struct Place {
    int64_t start_ns;
    uint32_t list;
    uint32_t index;
  };
  SpanView Of(const Place& place) const { return lists_[place.list][place.index]; }
  bool Less(const Place& x, const Place& y) const {
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    const SpanView a = Of(x), b = Of(y);
    const auto key = [](const SpanView& s) {
      return std::tie(s.start_ns, s.origin->rank, s.kind, s.name, s.end_ns, s.origin->source,
                      s.origin->boot, s.sequence, s.step, s.mode);
    };
    return key(a) < key(b);
  }

  const size_t limit_;
  std::vector<SpanList> lists_;  // the first list contains unsealed spans and copies of hits
  std::vector<Place> places_;
};

// Visits a consistent set of all candidate spans. Calls `begin` before each attempt. Windows store
// spans by their end times, so a long span may start before its window.
Status WalkSpans(const HistoryStore& store, const SpanQuery& query,
                 const std::function<void()>& begin,
                 const std::function<Status(const SpanView&)>& in_memory,
                 const std::function<Status(const SegmentMeta&)>& sealed) {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(store, query.job));
  return WhileSealed(*job, [&](uint64_t* version) -> Status {
    begin();
    std::vector<SegmentMeta> segments;
    {
      MutexLock lock(&job->mutex());
      *version = job->telemetry().windows().version();
      const int64_t first =
          query.range.from_ns <= kMinPosition ? kMinPosition : WindowOf(query.range.from_ns);
      for (auto at = job->windows().lower_bound(first); at != job->windows().end(); ++at) {
        const WindowEntry& window = at->second;
        if (window.sealed.has_value() && window.sealed->least_start_ns < query.range.to_ns)
          segments.push_back(*window.sealed);
        if (window.head == nullptr || window.head->least_start_ns() >= query.range.to_ns) continue;
        const SpanList& spans = window.head->spans();
        for (size_t s = 0; s < spans.size(); ++s) {
          if (s % kSpansBetweenChecks == 0) RETURN_IF_ERROR(CheckCanceled());
          RETURN_IF_ERROR(in_memory(spans[s]));
        }
      }
    }
    for (const SegmentMeta& facts : segments) {
      RETURN_IF_ERROR(CheckCanceled());
      RETURN_IF_ERROR(sealed(facts));
    }
    return OkStatus();
  });
}

}  // namespace

StatusOr<SpanPage> SegmentQuery::SpansPage(const SpanQuery& query, size_t first,
                                           size_t most) const {
  FoundSpans found(query.limits.rows);
  const Status walked = WalkSpans(
      *store_, query, [&] { found.Clear(); },
      [&](const SpanView& span) {
        return Wanted(query, false, span) ? found.Add(span) : OkStatus();
      },
      [&](const SegmentMeta& facts) -> Status {
        ASSIGN_OR_RETURN(const auto segment, store_->segments().Open(facts));
        SpanList read;
        RETURN_IF_ERROR(segment->ReadSpans(BoundsOf(query), &read));
        return found.AddWanted(std::move(read),
                               [&](const SpanView& span) { return Wanted(query, false, span); });
      });
  RETURN_IF_ERROR(walked);
  RETURN_IF_ERROR(CheckCanceled());
  return found.Rows(first, most);
}

StatusOr<std::vector<OperatorTotal>> SegmentQuery::Operators(const SpanQuery& query) const {
  SpanTotals totals;
  const auto take = [&](const SpanView& s) -> Status {
    if (Wanted(query, true, s))
      AddTo(totals.At(s.origin->rank, s.kind, s.name), s.end_ns - s.start_ns);
    return OkStatus();
  };
  const auto wanted = [&](int64_t rank, Span::Kind kind, std::string_view name) {
    return OneOf(query.ranks, rank) && OneOf(query.kinds, kind) &&
           (query.name.empty() || name == query.name);
  };
  // Adds the window's totals from its pages. Returns false if every span must be read.
  const auto add_totals = [&](const SegmentMeta& facts) -> StatusOr<bool> {
    if (!ByTotals(query) || facts.metrics.bytes == 0 ||
        facts.least_start_ns < query.range.from_ns ||
        facts.window_ns + kWindowNs > query.range.to_ns)
      return false;
    return PagesOf(*store_, facts).AddTotals(wanted, &totals);
  };
  const Status walked2 = WalkSpans(
      *store_, query, [&] { totals.Clear(); }, take,
      [&](const SegmentMeta& facts) -> Status {
        ASSIGN_OR_RETURN(const bool has_totals, add_totals(facts));
        if (has_totals) return OkStatus();
        ASSIGN_OR_RETURN(const auto segment, store_->segments().Open(facts));
        SpanList read;
        RETURN_IF_ERROR(segment->ReadSpans(BoundsOf(query), &read));
        for (size_t s = 0; s < read.size(); ++s) RETURN_IF_ERROR(take(read[s]));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked2);
  return totals.Take();
}

}  // namespace pitwall::history
