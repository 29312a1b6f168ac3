// What JobReader says of spans: themselves, and what equal ones come to.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "services/base/strings.h"
#include "services/insights/keep/job_reader.h"

namespace pitwall::insights {
namespace {

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

// Totals of whole windows say it: nothing but time, rank, kind and name is asked for.
bool ByTotals(const SpanQuery& query) {
  return query.mode.empty() && query.from_step == kNoStep && query.to_step == kMaxPosition;
}

Status TooMany(size_t limit) {
  return ResourceExhausted(
      Cat("spans: more than ", limit, " match; narrow range, ranks, kinds or steps"));
}

}  // namespace

// Windows hold spans by their ends; long ones began before the window.
Status JobReader::WalkSpans(const SpanQuery& query, const std::function<void()>& begin,
                            const std::function<Status(const SpanView&)>& in_memory,
                            const std::function<Status(const WindowSegment&)>& sealed) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  constexpr int kTries = 8;
  for (int i = 0;; ++i) {
    begin();
    std::vector<SegmentFacts> segments;
    uint64_t version = 0;
    {
      MutexLock lock(&job->mutex());
      version = job->version();
      const int64_t first =
          query.range.from_ns <= kMinPosition ? kMinPosition : WindowOf(query.range.from_ns);
      for (auto at = job->windows().lower_bound(first); at != job->windows().end(); ++at) {
        const KeptWindow& window = at->second;
        if (window.sealed.has_value() && window.sealed->least_start_ns < query.range.to_ns)
          segments.push_back(*window.sealed);
        if (window.head == nullptr || window.head->least_start_ns() >= query.range.to_ns) continue;
        const SpanList& spans = window.head->spans();
        for (size_t s = 0; s < spans.size(); ++s) RETURN_IF_ERROR(in_memory(spans[s]));
      }
    }
    Status status;
    for (const SegmentFacts& facts : segments) {
      const auto segment = store_->Segment(facts);
      status = segment.ok() ? sealed(**segment) : segment.status();
      if (!status.ok()) break;
    }
    if (!absl::IsDataLoss(status)) return status;
    MutexLock lock(&job->mutex());
    // Sealed again meanwhile: the file that was to be read is gone. Else it is damaged.
    if (job->version() == version || i == kTries) return status;
  }
}

StatusOr<std::vector<SpanRow>> JobReader::Spans(const SpanQuery& query) const {
  SpanList spans;
  const auto take = [&](const SpanView& span) -> Status {
    if (!Wanted(query, false, span)) return OkStatus();
    if (spans.size() >= query.limits.rows) return TooMany(query.limits.rows);
    spans.Add(span);
    return OkStatus();
  };
  const Status walked = WalkSpans(
      query, [&] { spans = SpanList(); }, take,
      [&](const WindowSegment& segment) -> Status {
        SpanList read;
        RETURN_IF_ERROR(segment.ReadSpans(BoundsOf(query), &read));
        for (size_t s = 0; s < read.size(); ++s) RETURN_IF_ERROR(take(read[s]));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  struct Place {
    int64_t start_ns;
    uint32_t index;
  };
  std::vector<Place> order(spans.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = {spans[i].start_ns, i};
  std::sort(order.begin(), order.end(), [&](const Place& x, const Place& y) {
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    const SpanView a = spans[x.index], b = spans[y.index];
    const auto key = [](const SpanView& s) {
      return std::tie(s.start_ns, s.origin->rank, s.kind, s.name, s.end_ns, s.origin->source,
                      s.origin->boot, s.sequence, s.step, s.mode);
    };
    return key(a) < key(b);
  });
  std::vector<SpanRow> out;
  out.reserve(spans.size());
  for (const Place& place : order) {
    const SpanView s = spans[place.index];
    out.push_back(
        {s.origin->source, s.origin->node, s.origin->rank,
         Span{s.kind, std::string(s.name), s.start_ns, s.end_ns, s.step, std::string(s.mode)}});
  }
  return out;
}

StatusOr<std::vector<OperatorTotal>> JobReader::Operators(const SpanQuery& query) const {
  std::map<std::tuple<int64_t, Span::Kind, std::string>, OperatorTotal> totals;
  const auto take = [&](const SpanView& s) -> Status {
    if (Wanted(query, true, s))
      AddTo(&totals[{s.origin->rank, s.kind, std::string(s.name)}], s.end_ns - s.start_ns);
    return OkStatus();
  };
  const Status walked2 = WalkSpans(
      query, [&] { totals.clear(); }, take,
      [&](const WindowSegment& segment) -> Status {
        const SegmentFacts& facts = segment.facts();
        if (ByTotals(query) && facts.least_start_ns >= query.range.from_ns &&
            facts.window_ns + kWindowNs <= query.range.to_ns) {
          ASSIGN_OR_RETURN(
              const bool told, segment.ReadTotals([&](const Origin& origin, OperatorTotal total) {
                if (!OneOf(query.ranks, origin.rank) || !OneOf(query.kinds, total.kind) ||
                    (!query.name.empty() && total.name != query.name))
                  return;
                Merge(total, &totals[{origin.rank, total.kind, total.name}]);
              }));
          if (told) return OkStatus();
        }
        SpanList read;
        RETURN_IF_ERROR(segment.ReadSpans(BoundsOf(query), &read));
        for (size_t s = 0; s < read.size(); ++s) RETURN_IF_ERROR(take(read[s]));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked2);
  std::vector<OperatorTotal> out;
  for (auto& [key, total] : totals) {
    std::tie(total.rank, total.kind, total.name) = key;
    out.push_back(std::move(total));
  }
  return out;
}

}  // namespace pitwall::insights
