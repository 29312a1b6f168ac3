// Implementation of SegmentQuery's series queries. They return samples and quantiles.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/history/query/paged_series.h"
#include "services/history/query/segment_query.h"
#include "services/history/query/stale_markers.h"
#include "services/history/query/window_samples.h"
#include "services/history/query/window_view.h"
#include "services/history/segments/metric_pages.h"

namespace pitwall::history {
namespace {

// Returns whether the selectors match only on metric and node, so that data by (node, metric)
// suffices.
bool ByNodeAndMetric(const std::vector<Selector>& selectors) {
  for (const Selector& selector : selectors) {
    for (const Matcher& matcher : selector.matchers) {
      if (matcher.label() != kMetricName && matcher.label() != "node") return false;
    }
  }
  return true;
}

bool Selected(const std::vector<Selector>& selectors, const std::string& node,
              const std::string& metric) {
  if (selectors.empty()) return true;
  const Labels labels({{kMetricName, metric}, {"node", node}});
  return std::any_of(selectors.begin(), selectors.end(),
                     [&](const Selector& s) { return s.Matches(labels); });
}

// Returns the number of windows to reserve memory for. The number is small, because some windows
// may not have samples.
size_t WindowsIn(const StoredJob& job, const TimeRange& range) {
  constexpr size_t kMost = 8;
  const int64_t first = range.from_ns <= kMinPosition ? kMinPosition : WindowOf(range.from_ns);
  MutexLock lock(&job.mutex());
  size_t windows = 0;
  for (auto at = job.windows().lower_bound(first);
       at != job.windows().end() && at->first < range.to_ns && windows < kMost; ++at)
    ++windows;
  return windows;
}

}  // namespace

StatusOr<std::vector<SeriesInfo>> SegmentQuery::Series(const SeriesQuery& query) const {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(*store_, query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job);
  std::vector<SeriesInfo> found;
  const auto note = [&](uint32_t series, int64_t first_ns, int64_t last_ns, bool steps) {
    SeriesInfo& info = At(&found, series);
    if (info.labels.empty()) {
      info.labels = set.all()[series].labels;
      info.kind = set.all()[series].kind;
      info.first_ns = first_ns;
    }
    info.last_ns = last_ns;
    info.has_steps |= steps;
  };
  PagedSeries pages(store_, &query, &set);
  // Metric pages suffice for a window that is read as a whole.
  const auto from_pages = [&](const WindowView& view) {
    return view.only_pages() && view.head.empty() &&
           (view.Within(query.range) || view.rows_are_gone());
  };
  const Status walked = ForEachClosed(
      *job, query.range, &set, [&] { found.clear(); },
      [&](WindowView* view) -> Status {
        if (from_pages(*view)) {
          return pages.ReadExtents(*view->sealed, [&](uint32_t series, const SeriesExtent& extent) {
            note(series, extent.first_ns, extent.last_ns, extent.has_steps);
          });
        }
        RETURN_IF_ERROR(OpenWindow(*store_, view));
        ASSIGN_OR_RETURN(const SeriesMerger merger, MergeRows(query.range, view, &set));
        SeriesRows rows;
        for (const uint32_t series : merger.series()) {
          RETURN_IF_ERROR(CheckCanceled());
          merger.Read(series, &rows, query.range.from_ns, query.range.to_ns);
          if (!rows.times.empty())
            note(series, rows.times.front(), rows.times.back(), rows.has_steps);
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  std::erase_if(found, [](const SeriesInfo& info) { return info.labels.empty(); });
  std::sort(found.begin(), found.end(),
            [](const SeriesInfo& a, const SeriesInfo& b) { return a.labels < b.labels; });
  return found;
}

StatusOr<std::vector<SampleColumn>> SegmentQuery::Samples(const SampleQuery& query) const {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(*store_, query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job);
  std::vector<SampleColumn> found;
  size_t count = 0;
  // A range of steps selects few rows, so less memory is reserved.
  const size_t windows = query.mode.empty() ? WindowsIn(*job, query.range) : 1;
  const auto begin = [&] {
    found.clear();
    count = 0;
  };
  RETURN_IF_ERROR(ForEachClosed(*job, query.range, &set, begin, [&](WindowView* view) -> Status {
    if (HasOtherSteps(query, *view)) return OkStatus();
    RETURN_IF_ERROR(OpenWindow(*store_, view));
    return AddSamples(query, view, &set, &found, &count, windows);
  }));
  std::vector<SampleColumn> out = InOrder(set, &found);
  if (query.stale_markers) RETURN_IF_ERROR(AddStaleMarkers(*store_, *job, query, &set, &out));
  return out;
}

StatusOr<std::vector<QuantileRow>> SegmentQuery::Quantiles(
    const SeriesQuery& query, std::span<const double> quantiles) const {
  for (const double q : quantiles) {
    if (!(q >= 0 && q <= 1))
      return InvalidArgument(Cat("quantile: must be between 0 and 1 (got ", FormatDouble(q), ")"));
  }
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(*store_, query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job);
  const bool by_metric = ByNodeAndMetric(query.selectors);
  const std::vector<std::string_view> names =
      by_metric ? MetricNamesOf(query.selectors) : std::vector<std::string_view>();
  std::map<Spreads::key_type, std::optional<Spread>> total;  // no value if not selected
  const auto merge = [&](const Spreads::key_type& key, const Spread& spread) {
    const auto at = total.find(key);
    if (at != total.end()) {
      if (at->second.has_value()) at->second->Merge(spread);
    } else if (!by_metric || Selected(query.selectors, key.first, key.second)) {
      total.emplace(key, spread);
    } else {
      total.emplace(key, std::nullopt);
    }
  };
  const Status walked4 = ForEachClosed(
      *job, query.range, &set, [&] { total.clear(); },
      [&](WindowView* view) -> Status {
        if (view->only_pages() &&
            (view->rows_are_gone() || (by_metric && view->Within(query.range))))
          return PagesOf(*store_, *view->sealed).ForEachSpread(names, merge);
        RETURN_IF_ERROR(OpenWindow(*store_, view));
        ASSIGN_OR_RETURN(const SeriesMerger merger, MergeRows(query.range, view, &set));
        std::vector<uint32_t> order = merger.series();
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
          return set.all()[a].labels < set.all()[b].labels;
        });
        Spreads of_window;
        SeriesRows rows;
        for (const uint32_t series : order) {
          RETURN_IF_ERROR(CheckCanceled());
          merger.Read(series, &rows, query.range.from_ns, query.range.to_ns);
          if (rows.times.empty()) continue;
          SpreadOf(&of_window, set.all()[series].labels)
              ->Add(rows, query.range.from_ns, query.range.to_ns);
        }
        for (const auto& [key, spread] : of_window) merge(key, spread);
        return OkStatus();
      });
  RETURN_IF_ERROR(walked4);
  std::vector<QuantileRow> out;
  for (const auto& [key, merged] : total) {
    if (!merged.has_value() || merged->sketch.count() == 0) continue;
    const Spread& spread = *merged;
    QuantileRow row;
    row.node = key.first;
    row.metric = key.second;
    row.count = spread.sketch.count();
    row.min = spread.sketch.min();
    row.max = spread.sketch.max();
    row.mean = spread.sum / static_cast<double>(row.count);
    for (const double q : quantiles) row.quantiles.push_back(spread.sketch.Quantile(q));
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace pitwall::history
