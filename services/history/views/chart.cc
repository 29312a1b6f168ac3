#include "services/history/views/chart.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "services/history/views/steps/buckets.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

ChartRow RowOf(const RollupRow& row) { return {row.start_ns, row.min, row.max, row.last}; }
ChartRow GapAt(int64_t at) { return {at, NormalNan(), NormalNan(), NormalNan()}; }

// Returns the typical interval between rows, or 0 if there are too few rows to determine it.
int64_t UsualDistance(const std::vector<ChartRow>& rows) {
  if (rows.size() < 3) return 0;
  std::vector<int64_t> distances;
  distances.reserve(rows.size() - 1);
  for (size_t i = 1; i < rows.size(); ++i) distances.push_back(rows[i].at - rows[i - 1].at);
  const auto middle = distances.begin() + static_cast<ptrdiff_t>((distances.size() - 1) / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

// Inserts gaps. `breaks` contains the times across which no line is drawn, in ascending order.
std::vector<ChartRow> WithGaps(std::vector<ChartRow> rows, std::span<const int64_t> breaks) {
  const int64_t usual = UsualDistance(rows);
  std::vector<ChartRow> out;
  out.reserve(rows.size());
  for (const ChartRow& row : rows) {
    if (!out.empty()) {
      const int64_t before = out.back().at;
      const int64_t distance = row.at - before;
      const auto cut = std::upper_bound(breaks.begin(), breaks.end(), before);
      const bool broken = cut != breaks.end() && *cut <= row.at;
      if (distance > 1 && (broken || (usual > 0 && distance / 3 >= usual && distance > 3 * usual)))
        out.push_back(GapAt(before + (broken ? distance / 2 : usual)));
    }
    out.push_back(row);
  }
  return out;
}

// Returns the samples, indexed by step. If a step was repeated, its later run is used.
std::vector<ChartRow> RowsByStep(const SampleColumn& column) {
  std::vector<ChartRow> rows;
  for (size_t i = 0; i < column.times.size() && i < column.steps.size(); ++i) {
    const double value = column.values[i];
    if (column.steps[i] == kNoStep || IsMissing(value) || IsStale(value)) continue;
    rows.push_back({column.steps[i], value, value, value});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ChartRow& a, const ChartRow& b) { return a.at < b.at; });
  std::vector<ChartRow> out;
  for (const ChartRow& row : rows) {
    if (!out.empty() && out.back().at == row.at) out.pop_back();
    out.push_back(row);
  }
  return out;
}

std::vector<ChartRow> Reduced(const std::vector<ChartRow>& rows, int64_t bucket) {
  std::vector<RollupRow> merged;
  for (const ChartRow& row : rows) {
    const RollupRow next = {FloorTo(row.at, bucket), row.min, row.max, row.last, row.last, 1};
    if (!merged.empty() && merged.back().start_ns == next.start_ns) {
      MergeInto(&merged.back(), next);
    } else {
      merged.push_back(next);
    }
  }
  std::vector<ChartRow> out;
  out.reserve(merged.size());
  for (const RollupRow& row : merged) out.push_back(RowOf(row));
  return out;
}

StatusOr<Chart> ChartBySteps(const History& history, const ChartQuery& query) {
  SampleQuery read;
  read.job = query.job->id;
  read.selectors = query.selectors;
  read.range = query.range;
  read.limits = query.limits;
  read.mode = query.mode;
  read.from_step = query.from_step;
  read.to_step = query.to_step;
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(read));
  Chart chart;
  chart.by_step = true;
  bool reduce = false;
  int64_t least = kMaxPosition, greatest = -1;
  for (const SampleColumn& column : columns) {
    ChartColumn& into = chart.columns.emplace_back();
    into.labels = column.labels;
    into.kind = column.kind;
    into.rows = RowsByStep(column);
    reduce = reduce || into.rows.size() > query.width;
    if (into.rows.empty()) continue;
    least = std::min(least, into.rows.front().at);
    greatest = std::max(greatest, into.rows.back().at);
  }
  chart.from = std::max(query.from_step, greatest < 0 ? query.from_step : least);
  chart.to = std::max(chart.from, std::min(query.to_step, greatest + 1));
  if (reduce) {
    chart.bucket = (chart.to - chart.from - 1) / static_cast<int64_t>(query.width) + 1;
    chart.to = NextAfter(chart.to - 1, chart.bucket);
    chart.from = FloorTo(chart.from, chart.bucket);
  }
  for (ChartColumn& column : chart.columns) {
    if (reduce) column.rows = Reduced(column.rows, chart.bucket);
    column.rows = WithGaps(std::move(column.rows), {});
  }
  return chart;
}

}  // namespace

StatusOr<Chart> MakeChart(const History& history, const ChartQuery& query) {
  if (query.by_step) return ChartBySteps(history, query);
  const BucketQuery buckets = {{query.job->id, query.selectors, query.range, query.limits},
                               query.width,
                               query.job->raw_from_ns};
  BucketGrid grid = GridOf(buckets);
  ASSIGN_OR_RETURN(std::optional<std::vector<BucketColumn>> coarse,
                   ReadCoarse(history, buckets, &grid));
  std::vector<int64_t> breaks;
  for (const AttemptLife& attempt : query.job->attempts) {
    if (attempt.began_ns > 0) breaks.push_back(attempt.began_ns);
  }
  std::sort(breaks.begin(), breaks.end());
  Chart chart;
  chart.tier = grid.tier;
  std::vector<BucketColumn> made;
  if (coarse.has_value()) {
    made = *std::move(coarse);
  } else if (!grid.tier.has_value()) {
    SampleQuery read;
    static_cast<SeriesQuery&>(read) = buckets.series;
    read.range = grid.range;  // slightly larger than the requested range, so one read suffices
    ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(read));
    // Returns the indexes of the samples within the requested range.
    const auto asked = [&](const SampleColumn& column) {
      const auto begin = column.times.begin(), end = column.times.end();
      const auto from = std::lower_bound(begin, end, query.range.from_ns);
      const auto to = std::lower_bound(from, end, query.range.to_ns);
      return std::pair(static_cast<size_t>(from - begin), static_cast<size_t>(to - begin));
    };
    const bool few = std::all_of(columns.begin(), columns.end(), [&](const SampleColumn& column) {
      const auto [from, to] = asked(column);
      return to - from <= query.width;
    });
    if (few) {
      chart.from = query.range.from_ns;
      chart.to = query.range.to_ns;
      for (const SampleColumn& column : columns) {
        std::vector<ChartRow> rows;
        const auto [from, to] = asked(column);
        if (from == to) continue;
        for (size_t i = from; i < to; ++i) {
          const double value = column.values[i];
          if (!IsMissing(value) && !IsStale(value))
            rows.push_back({column.times[i], value, value, value});
        }
        chart.columns.push_back({column.labels, column.kind, WithGaps(std::move(rows), breaks)});
      }
      return chart;
    }
    made = BucketsOf(columns, grid);
  } else {
    ASSIGN_OR_RETURN(made, ReadBuckets(history, buckets, grid));
  }
  chart.from = grid.range.from_ns;
  chart.to = grid.range.to_ns;
  chart.bucket = grid.bucket_ns;
  for (const BucketColumn& column : made) {
    std::vector<ChartRow> rows;
    rows.reserve(column.rows.size());
    for (const RollupRow& row : column.rows) rows.push_back(RowOf(row));
    chart.columns.push_back({column.labels, column.kind, WithGaps(std::move(rows), breaks)});
  }
  return chart;
}

}  // namespace pitwall::history
