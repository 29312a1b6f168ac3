// What JobReader says of series: samples, rollups, quantiles.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/strings.h"
#include "services/insights/reading/job_reader.h"
#include "services/insights/reading/window_samples.h"
#include "services/insights/reading/window_view.h"
#include "services/insights/segments/metric_pages.h"

namespace pitwall::insights {
namespace {

bool RowsAreGone(const WindowView& view) {
  return view.sealed.has_value() && !view.sealed->has_rows;
}

// Of metrics; empty: any may be asked for.
std::vector<std::string_view> NamesOf(const std::vector<Selector>& selectors) {
  std::vector<std::string_view> names;
  for (const Selector& selector : selectors) {
    names.push_back(selector.MetricName());
    if (names.back().empty()) return {};
  }
  return names;
}

MetricPages PagesOf(const HistoryStore& store, const SegmentFacts& facts) {
  return MetricPages(store.PathOf(facts), facts, &store.cache());
}

// What pages tell of wanted series. Which series the columns of a schema are is looked up once for
// all windows.
class PagedSeries {
 public:
  PagedSeries(const HistoryStore* store, const SeriesQuery* query, SeriesSet* set)
      : store_(*store), job_(query->job), names_(NamesOf(query->selectors)), set_(*set) {}
  // Calls with each wanted series and when its samples begin and end.
  Status ReadExtents(const SegmentFacts& facts,
                     const std::function<void(uint32_t series, const SeriesExtent& extent)>& take) {
    return PagesOf(store_, facts)
        .ForEachSeries([&](uint64_t schema, std::span<const SeriesRun> runs) -> Status {
          ASSIGN_OR_RETURN(const WantedColumns* wanted, WantedOf(schema, facts));
          const std::vector<uint32_t>& columns = wanted->columns;
          size_t at = 0;  // both ascend
          for (const SeriesRun& run : runs) {
            while (at < columns.size() && columns[at] < run.first_column) ++at;
            for (; at < columns.size() && columns[at] - run.first_column < run.columns; ++at)
              take(wanted->series[at], run.extent);
          }
          return OkStatus();
        });
  }
  // Calls with each wanted series and its rows [from, to).
  Status ReadRollups(const SegmentFacts& facts,
                     const std::function<Status(uint32_t series, const MetricRollups& of,
                                                size_t from, size_t to)>& take) {
    return PagesOf(store_, facts).ForEachRollups(names_, [&](const MetricRollups& of) -> Status {
      const WantedColumns* wanted = nullptr;
      size_t row = 0, at = 0;
      for (size_t i = 0; i < of.columns.size(); ++i) {
        if (i == 0 || of.schemas[i] != of.schemas[i - 1]) {
          ASSIGN_OR_RETURN(wanted, WantedOf(of.schemas[i], facts));
          at = 0;
        }
        // Both ascend.
        const std::vector<uint32_t>& columns = wanted->columns;
        while (at < columns.size() && columns[at] < of.columns[i]) ++at;
        const size_t first = std::exchange(row, row + of.row_counts[i]);
        if (at == columns.size() || columns[at] != of.columns[i]) continue;
        RETURN_IF_ERROR(take(wanted->series[at], of, first, row));
      }
      return OkStatus();
    });
  }

 private:
  StatusOr<const WantedColumns*> WantedOf(uint64_t schema, const SegmentFacts& facts) {
    const WantedColumns*& wanted = wanted_[schema];
    if (wanted != nullptr) return wanted;
    std::optional<SharedSchema> known = store_.schemas().Find(job_, schema);
    if (!known.has_value()) {  // the segment has it, and puts it there
      RETURN_IF_ERROR(store_.Segment(facts).status());
      known = store_.schemas().Find(job_, schema);
    }
    if (!known.has_value()) {
      return DataLoss(Cat(store_.PathOf(facts), ": a series of an unknown schema (", schema,
                          "): restore the file, or delete the job"));
    }
    ASSIGN_OR_RETURN(wanted, set_.Of(**known));
    return wanted;
  }

  const HistoryStore& store_;
  const std::string job_;
  const std::vector<std::string_view> names_;
  SeriesSet& set_;
  absl::flat_hash_map<uint64_t, const WantedColumns*> wanted_;
};

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

// For how many windows of samples memory is taken at once: a few, since not all need have them.
size_t WindowsIn(const KeptJob& job, const TimeRange& range) {
  constexpr size_t kMost = 8;
  const int64_t first = range.from_ns <= kMinPosition ? kMinPosition : WindowOf(range.from_ns);
  MutexLock lock(&job.mutex());
  size_t windows = 0;
  for (auto at = job.windows().lower_bound(first);
       at != job.windows().end() && at->first < range.to_ns && windows < kMost; ++at)
    ++windows;
  return windows;
}

// Where the rows of a tier begin that begin in the range, with all of their samples.
TimeRange WholeRows(const TimeRange& range, size_t tier) {
  return {CeilTo(range.from_ns, kTiers[tier]), CeilTo(range.to_ns, kTiers[tier])};
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
  PagedSeries pages(store_, &query, &set);
  // Pages of a window that is asked for as a whole say it all, but for those of former segments.
  const auto told = [&](const WindowView& view) -> StatusOr<bool> {
    if (!view.only_pages() || !view.head.empty() ||
        !(view.Within(query.range) || RowsAreGone(view)))
      return false;
    return PagesOf(*store_, *view.sealed).TellSeries();
  };
  const Status walked = ForEachClosed(
      *job, query.range, &set, [&] { found.clear(); },
      [&](WindowView* view) -> Status {
        ASSIGN_OR_RETURN(const bool paged, told(*view));
        if (paged) {
          return pages.ReadExtents(*view->sealed, [&](uint32_t series, const SeriesExtent& extent) {
            note(series, extent.first_ns, extent.last_ns, extent.has_steps);
          });
        }
        RETURN_IF_ERROR(OpenWindow(*store_, view));
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
  // Of a range of steps few rows are wanted.
  const size_t windows = query.mode.empty() ? WindowsIn(*job, query.range) : 1;
  const auto begin = [&] {
    found.clear();
    count = 0;
  };
  const Status walked2 = ForEachWindow(
      *store_, *job, query.range, &set, begin,
      [&](WindowView* view) { return AddSamples(query, view, &set, &found, &count, windows); },
      [&](const WindowView& view) { return HasOtherSteps(query, view); });
  RETURN_IF_ERROR(walked2);
  std::vector<SampleColumn> out = InOrder(set, &found);
  if (query.stale_markers) RETURN_IF_ERROR(AddStaleMarkers(job, query, &set, &out));
  return out;
}

Status JobReader::WalkRollups(
    const SeriesQuery& query, const TimeRange& whole, size_t tier, SeriesSet* set,
    const std::function<void()>& begin,
    const std::function<Status(uint32_t series, std::span<const RollupRow> rows)>& take) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  size_t count = 0;
  std::vector<RollupRow> wanted;
  const auto in_range = [&](const RollupRow& row) {
    return row.start_ns >= whole.from_ns && row.start_ns < whole.to_ns;
  };
  const auto take_wanted = [&](uint32_t series) -> Status {
    if (!wanted.empty()) RETURN_IF_ERROR(take(series, wanted));
    count += wanted.size();
    wanted.clear();
    return count > query.limits.rows ? TooManyRows(query.limits.rows) : OkStatus();
  };
  const auto add = [&](uint32_t series, const std::vector<RollupRow>& rows) {
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(wanted), in_range);
    return take_wanted(series);
  };
  const auto add_paged = [&](uint32_t series, const MetricRollups& of, size_t from, size_t to) {
    // They ascend.
    while (from < to && of.StartOf(from) < whole.from_ns) ++from;
    while (from < to && of.StartOf(to - 1) >= whole.to_ns) --to;
    wanted.resize(to - from);
    for (size_t i = from; i < to; ++i) wanted[i - from] = of.Row(i);
    return take_wanted(series);
  };
  PagedSeries pages(store_, &query, set);
  return ForEachClosed(
      *job, whole, set,
      [&] {
        begin();
        count = 0;
      },
      [&](WindowView* view) -> Status {
        if (tier == kPagedTier && view->only_pages())
          return pages.ReadRollups(*view->sealed, add_paged);
        RETURN_IF_ERROR(OpenWindow(*store_, view));
        if (RowsAreGone(*view) || (view->only_sealed() && tier > 0)) {
          std::vector<StoredSeries> stored;
          RETURN_IF_ERROR(view->segment->ReadSeries(set, &stored));
          for (const StoredSeries& s : stored) RETURN_IF_ERROR(add(s.series, s.rows[tier]));
          return OkStatus();
        }
        MergedWindow window(view, set);
        RETURN_IF_ERROR(window.Prepare(whole));
        SeriesRows rows;
        for (const uint32_t series : window.merger().series()) {
          window.merger().Read(series, &rows, whole.from_ns, whole.to_ns);
          RETURN_IF_ERROR(add(series, RollUp(rows)[tier]));
        }
        return OkStatus();
      });
}

StatusOr<std::vector<RollupColumn>> JobReader::Rollups(const SeriesQuery& query,
                                                       size_t tier) const {
  if (tier >= kTiers.size())
    return InvalidArgument(Cat("tier ", tier, ": there are ", kTiers.size()));
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  const size_t stored_tier = std::min(tier, kWindowTiers - 1);
  std::vector<RollupColumn> found;
  RETURN_IF_ERROR(WalkRollups(
      query, WholeRows(query.range, tier), stored_tier, &set, [&] { found.clear(); },
      [&](uint32_t series, std::span<const RollupRow> rows) {
        std::vector<RollupRow>& out = At(&found, series).rows;
        out.insert(out.end(), rows.begin(), rows.end());
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

Status JobReader::VisitRollups(const SeriesQuery& query, size_t tier,
                               const std::function<void()>& begin,
                               const std::function<Status(const RollupPart&)>& visit) const {
  // Rows of a coarser tier are of several windows.
  if (tier >= kWindowTiers) return History::VisitRollups(query, tier, begin, visit);
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  return WalkRollups(query, WholeRows(query.range, tier), tier, &set, begin,
                     [&](uint32_t series, std::span<const RollupRow> rows) {
                       const SeriesSet::Entry& of = set.all()[series];
                       return visit({series, of.labels, of.kind, rows});
                     });
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
  const std::vector<std::string_view> names =
      by_metric ? NamesOf(query.selectors) : std::vector<std::string_view>();
  std::map<Spreads::key_type, std::optional<Spread>> total;  // nothing: not asked for
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
        const bool stored = RowsAreGone(*view) || (by_metric && view->Within(query.range));
        if (stored && view->only_pages())
          return PagesOf(*store_, *view->sealed).ForEachSpread(names, merge);
        RETURN_IF_ERROR(OpenWindow(*store_, view));
        if (stored && (view->only_sealed() || RowsAreGone(*view))) {
          ASSIGN_OR_RETURN(const Spreads spreads, view->segment->ReadSpreads());
          for (const auto& [key, spread] : spreads) merge(key, spread);
          return OkStatus();
        }
        MergedWindow window(view, &set);
        RETURN_IF_ERROR(window.Prepare(query.range));
        std::vector<uint32_t> order = window.merger().series();
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
          return set.all()[a].labels < set.all()[b].labels;
        });
        Spreads of_window;
        SeriesRows rows;
        for (const uint32_t series : order) {
          window.merger().Read(series, &rows, query.range.from_ns, query.range.to_ns);
          if (rows.times_ns.empty()) continue;
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

}  // namespace pitwall::insights
