#include "services/insights/views/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "services/insights/views/natural_order.h"
#include "services/insights/views/statistics.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

double ValueOf(const RollupRow& row, HeatValue value) {
  switch (value) {
    case HeatValue::kMean:
      return row.sum / row.count;
    case HeatValue::kMin:
      return row.min;
    case HeatValue::kMax:
      return row.max;
    case HeatValue::kLast:
      return row.last;
  }
  return NormalNan();
}

}  // namespace

StatusOr<HeatMap> MakeHeatMap(const History& history, const BucketQuery& query, HeatValue value) {
  HeatMap map;
  map.grid = GridOf(query);
  ASSIGN_OR_RETURN(const std::vector<BucketColumn> columns, ReadBuckets(history, query, map.grid));
  for (const BucketColumn& column : columns) {
    HeatMapRow& row = map.rows.emplace_back();
    row.labels = column.labels;
    row.cells.assign(map.grid.buckets(), NormalNan());
    for (const RollupRow& bucket : column.rows) {
      const auto at =
          static_cast<size_t>((bucket.start_ns - map.grid.range.from_ns) / map.grid.bucket_ns);
      if (at < row.cells.size()) row.cells[at] = ValueOf(bucket, value);
    }
  }
  std::sort(map.rows.begin(), map.rows.end(), [](const HeatMapRow& a, const HeatMapRow& b) {
    return NaturallyLess(a.labels, b.labels);
  });
  return map;
}

StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own) {
  StepHeatMap map;
  std::vector<StepRow> rows;
  if (want_own) {
    ASSIGN_OR_RETURN(StepTable table, MakeStepTable(history, query));
    rows = std::move(table.rows);
    map.own_time = !rows.empty() && std::none_of(rows.begin(), rows.end(), [](const StepRow& row) {
      return std::isnan(row.wait);
    });
  } else {
    ASSIGN_OR_RETURN(rows, ReadStepDurations(history, query));
  }
  const auto seconds_of = [&](const StepRow& row) {
    return map.own_time ? std::max(0.0, row.duration - row.wait) : row.duration;
  };
  if (rows.empty()) {
    map.from_step = map.to_step = query.from_step;
    return map;
  }
  // Rows are sorted by (step, rank, end): the last of equal (step, rank) is the latest run.
  std::map<int64_t, std::vector<const StepRow*>> steps;
  for (const StepRow& row : rows) {
    auto& of_step = steps[row.step];
    if (!of_step.empty() && of_step.back()->rank == row.rank) of_step.pop_back();
    of_step.push_back(&row);
  }
  const auto most = static_cast<int64_t>(std::clamp<size_t>(most_columns, 1, kMostWidth));
  const int64_t first = steps.begin()->first, last = steps.rbegin()->first;
  map.bucket_steps = (last - first) / most + 1;
  while (last / map.bucket_steps - first / map.bucket_steps >= most) ++map.bucket_steps;
  map.from_step = FloorTo(first, map.bucket_steps);
  map.to_step = NextAfter(last, map.bucket_steps);
  const auto columns = static_cast<size_t>((map.to_step - map.from_step) / map.bucket_steps);
  std::map<int64_t, size_t> row_of;
  for (const StepRow& row : rows) row_of.emplace(row.rank, 0);
  const std::map<int64_t, std::string> nodes = NodesOfRanks(*query.job);
  for (auto& [rank, index] : row_of) {
    index = map.rows.size();
    const auto node = nodes.find(rank);
    map.rows.push_back(
        {rank, node == nodes.end() ? "" : node->second, std::vector<double>(columns, NormalNan())});
  }
  std::vector<std::vector<double>> medians(columns);
  for (const auto& [step, of_step] : steps) {
    std::vector<double> durations;
    durations.reserve(of_step.size());
    for (const StepRow* row : of_step) durations.push_back(seconds_of(*row));
    const double median = MedianOf(std::move(durations));
    const auto column = static_cast<size_t>((step - map.from_step) / map.bucket_steps);
    medians[column].push_back(median);
    for (const StepRow* row : of_step) {
      double& cell = map.rows[row_of[row->rank]].cells[column];
      const double slowdown = median > 0 ? seconds_of(*row) / median : NormalNan();
      if (std::isnan(cell) || slowdown > cell) cell = slowdown;
    }
  }
  for (std::vector<double>& of_column : medians)
    map.medians.push_back(MedianOf(std::move(of_column)));
  return map;
}

}  // namespace pitwall::insights
