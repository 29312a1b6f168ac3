#include "services/insights/views/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/strings.h"
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

namespace {

// Steps × ranks that one answer holds in memory, 8 bytes each.
constexpr size_t kMostCells = size_t{32} << 20;

// Seconds of each step by rank; NaN: not told. Of a step that was run again the later run counts.
class StepMatrix {
 public:
  Status Add(const RankSteps& of_rank) {
    std::vector<double>& cells = ranks_[of_rank.rank];
    size_t row = 0;  // ranks run the same steps in the same order: mostly the one after the last
    for (size_t i = 0; i < of_rank.steps.size(); ++i) {
      const int64_t step = of_rank.steps[i];
      if (step == kNoStep || !std::isfinite(of_rank.seconds[i])) continue;
      if (row >= steps_.size() || steps_[row] != step) row = RowOf(step);
      if (row >= cells.size()) RETURN_IF_ERROR(Grow(row + 1, &cells));
      cells[row] = of_rank.seconds[i];
      ++row;
    }
    return OkStatus();
  }
  // Ascending, and the row of each.
  std::vector<std::pair<int64_t, size_t>> Steps() const {
    std::vector<std::pair<int64_t, size_t>> out;
    out.reserve(steps_.size());
    for (size_t row = 0; row < steps_.size(); ++row) out.emplace_back(steps_[row], row);
    std::sort(out.begin(), out.end());
    return out;
  }
  // Cells by row, as far as the rank has any.
  const std::map<int64_t, std::vector<double>>& ranks() const { return ranks_; }

 private:
  size_t RowOf(int64_t step) {
    const auto [at, added] = rows_.try_emplace(step, steps_.size());
    if (added) steps_.push_back(step);
    return at->second;
  }
  Status Grow(size_t rows, std::vector<double>* cells) {
    cells_ += rows - cells->size();
    if (cells_ > kMostCells) {
      return ResourceExhausted(
          Cat("cells: more than ", kMostCells, " of steps by ranks; give a range of steps"));
    }
    if (rows > cells->capacity()) cells->reserve(std::max(rows, steps_.size()));
    cells->resize(rows, NormalNan());
    return OkStatus();
  }

  std::vector<int64_t> steps_;  // in the order in which they were met
  absl::flat_hash_map<int64_t, size_t> rows_;
  std::map<int64_t, std::vector<double>> ranks_;
  size_t cells_ = 0;
};

// Reads a stretch of time at a time. `own`: without the wait; false in *told where a row does not
// tell it, and then the rest is not read.
StatusOr<StepMatrix> ReadSteps(const History& history, const StepQuery& query, bool own,
                               bool* told) {
  StepMatrix matrix;
  const Status read = VisitStepTimes(
      history, query, own, [&] { matrix = StepMatrix(); },
      [&](const RankSteps& of_rank) -> Status {
        const auto none = [](double seconds) { return std::isnan(seconds); };
        if (own && std::any_of(of_rank.seconds.begin(), of_rank.seconds.end(), none)) *told = false;
        return *told ? matrix.Add(of_rank) : OkStatus();
      });
  RETURN_IF_ERROR(read);
  return matrix;
}

}  // namespace

StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own) {
  StepHeatMap map;
  bool told = true;
  ASSIGN_OR_RETURN(StepMatrix matrix, ReadSteps(history, query, want_own, &told));
  map.own_time = want_own && told;
  if (!told) {
    told = true;
    ASSIGN_OR_RETURN(matrix, ReadSteps(history, query, false, &told));
  }
  const std::vector<std::pair<int64_t, size_t>> steps = matrix.Steps();
  if (steps.empty()) {
    map.own_time = false;
    map.from_step = map.to_step = query.from_step;
    return map;
  }
  const auto most = static_cast<int64_t>(std::clamp<size_t>(most_columns, 1, kMostWidth));
  const int64_t first = steps.front().first, last = steps.back().first;
  map.bucket_steps = (last - first) / most + 1;
  while (last / map.bucket_steps - first / map.bucket_steps >= most) ++map.bucket_steps;
  map.from_step = FloorTo(first, map.bucket_steps);
  map.to_step = NextAfter(last, map.bucket_steps);
  const auto columns = static_cast<size_t>((map.to_step - map.from_step) / map.bucket_steps);
  const std::map<int64_t, std::string> nodes = NodesOfRanks(*query.job);
  std::vector<std::span<const double>> cells_of;  // by row of the map
  for (const auto& [rank, cells] : matrix.ranks()) {
    if (cells.empty()) continue;
    cells_of.push_back(cells);
    const auto node = nodes.find(rank);
    map.rows.push_back(
        {rank, node == nodes.end() ? "" : node->second, std::vector<double>(columns, NormalNan())});
  }
  std::vector<std::vector<double>> medians(columns);
  std::vector<double> of_step;
  std::vector<size_t> rows;  // of the map, with those
  for (const auto& [step, row] : steps) {
    of_step.clear();
    rows.clear();
    for (size_t i = 0; i < cells_of.size(); ++i) {
      if (row >= cells_of[i].size() || std::isnan(cells_of[i][row])) continue;
      of_step.push_back(cells_of[i][row]);
      rows.push_back(i);
    }
    const double median = MedianOf(of_step);
    const auto column = static_cast<size_t>((step - map.from_step) / map.bucket_steps);
    medians[column].push_back(median);
    for (size_t i = 0; i < of_step.size(); ++i) {
      double& cell = map.rows[rows[i]].cells[column];
      const double slowdown = median > 0 ? of_step[i] / median : NormalNan();
      if (std::isnan(cell) || slowdown > cell) cell = slowdown;
    }
  }
  for (std::vector<double>& of_column : medians)
    map.medians.push_back(MedianOf(std::move(of_column)));
  return map;
}

}  // namespace pitwall::insights
