// What JobReader says of series: samples, rollups, quantiles.
#include <algorithm>
#include <utility>

#include "services/base/strings.h"
#include "services/insights/keep/job_reader.h"
#include "services/insights/keep/window_samples.h"
#include "services/insights/keep/window_view.h"

namespace pitwall::insights {
namespace {

bool RowsAreGone(const WindowView& view) {
  return view.segment != nullptr && !view.segment->facts().has_rows;
}

// Only the metric and the node decide: what is known by (node, metric) answers it.
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

int64_t CeilTo(int64_t time_ns, int64_t unit) {
  return time_ns >= kMaxPosition - unit ? kMaxPosition : NextAfter(time_ns - 1, unit);
}

}  // namespace

StatusOr<std::vector<SeriesInfo>> JobReader::Series(const SeriesQuery& query) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
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
  const Status walked = ForEachWindow(
      *store_, *job, query.range, &set, [&] { found.clear(); },
      [&](WindowView* view) -> Status {
        if (view->only_sealed() && (view->Within(query.range) || RowsAreGone(*view))) {
          std::vector<StoredSeries> stored;
          RETURN_IF_ERROR(view->segment->ReadSeries(&set, &stored));
          for (const StoredSeries& s : stored) note(s.series, s.first_ns, s.last_ns, s.has_steps);
          return OkStatus();
        }
        MergedWindow window(view, &set);
        RETURN_IF_ERROR(window.Prepare(query.range));
        SeriesRows rows;
        for (const uint32_t series : window.merger().series()) {
          window.merger().Read(series, &rows, query.range.from_ns, query.range.to_ns);
          if (!rows.times_ns.empty())
            note(series, rows.times_ns.front(), rows.times_ns.back(), rows.has_steps);
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  std::erase_if(found, [](const SeriesInfo& info) { return info.labels.empty(); });
  std::sort(found.begin(), found.end(),
            [](const SeriesInfo& a, const SeriesInfo& b) { return a.labels < b.labels; });
  return found;
}

Status JobReader::VisitSamples(
    const SampleQuery& query, const std::function<void()>& begin,
    const std::function<Status(std::vector<SampleColumn>)>& visit) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  return ForEachWindow(
      *store_, *job, query.range, &set, begin,
      [&](WindowView* view) -> Status {
        std::vector<SampleColumn> found;
        size_t count = 0;
        RETURN_IF_ERROR(AddSamples(query, view, &set, &found, &count));
        return visit(InOrder(set, &found));
      },
      [&](const WindowView& view) { return HasOtherSteps(query, view); });
}

StatusOr<std::vector<SampleColumn>> JobReader::Samples(const SampleQuery& query) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  std::vector<SampleColumn> found;
  size_t count = 0;
  const auto begin = [&] {
    found.clear();
    count = 0;
  };
  const Status walked2 = ForEachWindow(
      *store_, *job, query.range, &set, begin,
      [&](WindowView* view) { return AddSamples(query, view, &set, &found, &count); },
      [&](const WindowView& view) { return HasOtherSteps(query, view); });
  RETURN_IF_ERROR(walked2);
  std::vector<SampleColumn> out = InOrder(set, &found);
  if (query.stale_markers) RETURN_IF_ERROR(AddStaleMarkers(job, query, &out));
  return out;
}

StatusOr<std::vector<RollupColumn>> JobReader::Rollups(const SeriesQuery& query,
                                                       size_t tier) const {
  if (tier >= kTiers.size())
    return InvalidArgument(Cat("tier ", tier, ": there are ", kTiers.size()));
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  // Rows that begin in the range, with all of their samples.
  const int64_t length = kTiers[tier];
  const TimeRange whole = {CeilTo(query.range.from_ns, length), CeilTo(query.range.to_ns, length)};
  const size_t stored_tier = std::min(tier, kWindowTiers - 1);
  std::vector<RollupColumn> found;
  size_t count = 0;
  const auto add = [&](uint32_t series, const std::vector<RollupRow>& rows) -> Status {
    RollupColumn& out = At(&found, series);
    for (const RollupRow& row : rows) {
      if (row.start_ns < whole.from_ns || row.start_ns >= whole.to_ns) continue;
      out.rows.push_back(row);
      ++count;
    }
    return count > query.limits.rows ? TooManyRows(query.limits.rows) : OkStatus();
  };
  const Status walked3 = ForEachWindow(
      *store_, *job, whole, &set,
      [&] {
        found.clear();
        count = 0;
      },
      [&](WindowView* view) -> Status {
        if (RowsAreGone(*view) || (view->only_sealed() && stored_tier > 0)) {
          std::vector<StoredSeries> stored;
          RETURN_IF_ERROR(view->segment->ReadSeries(&set, &stored));
          for (const StoredSeries& s : stored) RETURN_IF_ERROR(add(s.series, s.rows[stored_tier]));
          return OkStatus();
        }
        MergedWindow window(view, &set);
        RETURN_IF_ERROR(window.Prepare(whole));
        SeriesRows rows;
        for (const uint32_t series : window.merger().series()) {
          window.merger().Read(series, &rows, whole.from_ns, whole.to_ns);
          RETURN_IF_ERROR(add(series, RollUp(rows)[stored_tier]));
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(walked3);
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

StatusOr<std::vector<QuantileRow>> JobReader::Quantiles(const SeriesQuery& query,
                                                        std::span<const double> quantiles) const {
  for (const double q : quantiles) {
    if (!(q >= 0 && q <= 1))
      return InvalidArgument(Cat("quantile ", FormatDouble(q), ": give one from 0 to 1"));
  }
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  const bool by_metric = ByNodeAndMetric(query.selectors);
  insights::Spreads total;
  const auto merge = [&](const insights::Spreads& of_window) {
    for (const auto& [key, spread] : of_window) {
      if (!by_metric || Selected(query.selectors, key.first, key.second)) {
        const auto [at, added] = total.try_emplace(key, spread);
        if (!added) at->second.Merge(spread);
      }
    }
  };
  const Status walked4 = ForEachWindow(
      *store_, *job, query.range, &set, [&] { total.clear(); },
      [&](WindowView* view) -> Status {
        if (RowsAreGone(*view) || (by_metric && view->only_sealed() && view->Within(query.range))) {
          ASSIGN_OR_RETURN(const insights::Spreads stored, view->segment->ReadSpreads());
          merge(stored);
          return OkStatus();
        }
        MergedWindow window(view, &set);
        RETURN_IF_ERROR(window.Prepare(query.range));
        std::vector<uint32_t> order = window.merger().series();
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
          return set.all()[a].labels < set.all()[b].labels;
        });
        insights::Spreads of_window;
        SeriesRows rows;
        for (const uint32_t series : order) {
          window.merger().Read(series, &rows, query.range.from_ns, query.range.to_ns);
          if (rows.times_ns.empty()) continue;
          SpreadOf(&of_window, set.all()[series].labels)
              ->Add(rows, query.range.from_ns, query.range.to_ns);
        }
        merge(of_window);
        return OkStatus();
      });
  RETURN_IF_ERROR(walked4);
  std::vector<QuantileRow> out;
  for (const auto& [key, spread] : total) {
    if (spread.sketch.count() == 0) continue;
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

}  // namespace pitwall::insights
