// Implementation of SegmentQuery's rollup queries.
#include <algorithm>
#include <utility>

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/history/query/paged_series.h"
#include "services/history/query/segment_query.h"
#include "services/history/query/window_samples.h"
#include "services/history/query/window_view.h"

namespace pitwall::history {
namespace {

int64_t CeilTo(int64_t time_ns, int64_t unit) {
  return time_ns >= kMaxPosition - unit ? kMaxPosition : NextAfter(time_ns - 1, unit);
}

// Returns the time range covered by the tier's rows that start in the given range. It includes all
// samples of these rows.
TimeRange WholeRows(const TimeRange& range, size_t tier) {
  return {CeilTo(range.from_ns, kTiers[tier]), CeilTo(range.to_ns, kTiers[tier])};
}

// Returns the given rows that start in the range. `rows` must be in time order.
RollupRows Within(const RollupRows& rows, const TimeRange& range) {
  size_t from = 0, to = rows.size();
  while (from < to && rows.start_ns(from) < range.from_ns) ++from;
  while (from < to && rows.start_ns(to - 1) >= range.to_ns) --to;
  return rows.Sub(from, to);
}

// Passes the rows of a window to `visit`, series by series, up to a limit.
class PartMaker {
 public:
  PartMaker(const SeriesSet* set, const TimeRange& whole, size_t most,
            const std::function<Status(std::span<const RollupPart>)>* visit)
      : set_(*set), whole_(whole), most_(most), visit_(*visit) {}
  void Begin() { rows_ = 0; }
  // Adds rows of a series. The rows must stay valid until Visit.
  void Add(uint32_t series, const RollupRows& all) {
    const RollupRows rows = Within(all, whole_);
    if (rows.empty()) return;
    rows_ += rows.size();
    parts_.push_back({series, &set_.all()[series], rows});
  }
  // The set must not change between the first call to Add and the call to Visit.
  Status Visit() {
    const Status visited = visit_(parts_);
    parts_.clear();
    RETURN_IF_ERROR(visited);
    return rows_ > most_ ? TooManyRows(most_) : OkStatus();
  }

 private:
  const SeriesSet& set_;
  const TimeRange whole_;
  const size_t most_;
  const std::function<Status(std::span<const RollupPart>)>& visit_;
  size_t rows_ = 0;
  std::vector<RollupPart> parts_;
};

// Implements VisitRollups for a tier that windows store.
Status WalkRollups(const HistoryStore& store, const SeriesQuery& query, const TimeRange& whole,
                   size_t tier, SeriesSet* set, const std::function<void()>& begin,
                   const std::function<Status(std::span<const RollupPart>)>& visit) {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(store, query.job));
  PartMaker parts(set, whole, query.limits.rows, &visit);
  PagedSeries pages(&store, &query, set);
  const auto paged = [&](std::span<const SegmentMeta* const> windows) {
    return pages.ReadRollups(windows, [&](const PagedSeries::Rollups& of) {
      size_t row = 0;
      for (size_t i = 0; i < of.series.size(); ++i) {
        const size_t first = std::exchange(row, row + of.row_counts[i]);
        if (of.series[i] != PagedSeries::kUnwanted)
          parts.Add(of.series[i], RollupRows(&of.rows, first, row));
      }
      return parts.Visit();
    });
  };
  const auto opened = [&](WindowView* view) -> Status {
    RETURN_IF_ERROR(OpenWindow(store, view));
    if (view->rows_are_gone()) {
      std::vector<StoredSeries> stored;
      RETURN_IF_ERROR(view->segment->ReadSeries(set, &stored));
      for (const StoredSeries& s : stored) parts.Add(s.series, std::span(s.finest));
      return parts.Visit();
    }
    ASSIGN_OR_RETURN(const SeriesMerger merger, MergeRows(whole, view, set));
    SeriesRows rows;
    for (const uint32_t series : merger.series()) {
      RETURN_IF_ERROR(CheckCanceled());
      merger.Read(series, &rows, whole.from_ns, whole.to_ns);
      const TierRows tiers = RollUp(rows);
      parts.Add(series, std::span(tiers[tier]));
      RETURN_IF_ERROR(parts.Visit());
    }
    return OkStatus();
  };
  return WhileSealed(*job, [&](uint64_t* version) -> Status {
    begin();
    parts.Begin();
    std::vector<WindowView> views;
    RETURN_IF_ERROR(CopyWindows(*job, whole, set, &views, version));
    // Adjacent windows with pages are read together.
    std::vector<const SegmentMeta*> neighbors;
    for (WindowView& view : views) {
      if (tier == kPagedTier && view.only_pages()) {
        neighbors.push_back(&*view.sealed);
        continue;
      }
      RETURN_IF_ERROR(paged(neighbors));
      neighbors.clear();
      RETURN_IF_ERROR(opened(&view));
      view = WindowView();  // frees the view's memory
    }
    return paged(neighbors);
  });
}

}  // namespace

StatusOr<std::vector<RollupColumn>> SegmentQuery::Rollups(const SeriesQuery& query,
                                                          size_t tier) const {
  if (tier >= kTiers.size())
    return InvalidArgument(Cat("tier: must be less than ", kTiers.size(), " (got ", tier, ")"));
  SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job);
  const size_t stored_tier = std::min(tier, kWindowTiers - 1);
  std::vector<RollupColumn> found;
  RETURN_IF_ERROR(WalkRollups(
      *store_, query, WholeRows(query.range, tier), stored_tier, &set, [&] { found.clear(); },
      [&](std::span<const RollupPart> parts) {
        for (const RollupPart& part : parts) part.rows.AppendTo(&At(&found, part.series).rows);
        return OkStatus();
      }));
  std::vector<RollupColumn> out;
  for (const uint32_t series : set.InOrder()) {
    if (series >= found.size() || found[series].rows.empty()) continue;
    RollupColumn& column = found[series];
    column.labels = set.all()[series].labels;
    column.kind = set.all()[series].kind;
    if (tier > stored_tier) column.rows = Coarser(column.rows, tier);
    out.push_back(std::move(column));
  }
  return out;
}

StatusOr<SeriesTablePtr> SegmentQuery::VisitRollups(
    const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
    const std::function<Status(std::span<const RollupPart>)>& visit) const {
  // Rows of coarser tiers span several windows.
  if (tier >= kWindowTiers) return HistoryStorage::VisitRollups(query, tier, begin, visit);
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(*store_, query.job));
  const SegmentCache::Key key = SegmentCache::SeriesKey(job->number());
  const bool all = query.selectors.empty();
  auto known = all ? store_->segments().cache().Find<KnownSeries>(key) : nullptr;
  if (known != nullptr && known->table->series.size() > query.limits.series) known = nullptr;
  for (;; known = nullptr) {
    SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job,
                  known);
    const Status walked =
        WalkRollups(*store_, query, WholeRows(query.range, tier), tier, &set, begin, visit);
    // Series cached by earlier queries must not affect the result. Their schemas could change the
    // kind of a series, and the number of series could exceed the limit.
    if (known != nullptr && (set.two_kinds() || absl::IsResourceExhausted(walked))) continue;
    RETURN_IF_ERROR(walked);
    const bool keep = all && !set.two_kinds();
    auto found = set.Take();
    if (found != known) store_->segments().cache().Erase(key);
    if (found != known && keep) store_->segments().cache().Put(key, found, found->bytes());
    return found->table;
  }
}

}  // namespace pitwall::history
