#include "services/insights/views/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
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
  Status Add(int64_t rank, int64_t step, double seconds) {
    if (rank != last_rank_) {
      last_rank_ = rank;
      last_column_ = ranks_.try_emplace(rank, ranks_.size()).first->second;
    }
    std::vector<double>& of_step = steps_[step];
    if (of_step.size() <= last_column_) {
      cells_ += last_column_ + 1 - of_step.size();
      if (cells_ > kMostCells) {
        return ResourceExhausted(
            Cat("cells: more than ", kMostCells, " of steps by ranks; give a range of steps"));
      }
      of_step.resize(last_column_ + 1, NormalNan());
    }
    of_step[last_column_] = seconds;
    return OkStatus();
  }
  std::vector<int64_t> Steps() const {
    std::vector<int64_t> out;
    out.reserve(steps_.size());
    for (const auto& [step, cells] : steps_) out.push_back(step);
    std::sort(out.begin(), out.end());
    return out;
  }
  const std::vector<double>& of(int64_t step) const { return steps_.at(step); }
  const std::map<int64_t, size_t>& ranks() const { return ranks_; }  // and their columns

 private:
  absl::flat_hash_map<int64_t, std::vector<double>> steps_;
  std::map<int64_t, size_t> ranks_;
  int64_t last_rank_ = INT64_MIN;
  size_t last_column_ = 0;
  size_t cells_ = 0;
};

// Reads a stretch of time at a time. `own`: without the wait; false in *told where a row does not
// tell it, and then the rest is not read.
StatusOr<StepMatrix> ReadSteps(const History& history, const StepQuery& query, bool own,
                               bool* told) {
  StepMatrix matrix;
  const Status read = VisitStepTimes(
      history, query, own, [&] { matrix = StepMatrix(); },
      [&](const std::vector<StepTime>& times) -> Status {
        for (const StepTime& time : times) {
          if (own && std::isnan(time.wait)) *told = false;
          if (!*told) return OkStatus();
          const double seconds = own ? std::max(0.0, time.duration - time.wait) : time.duration;
          RETURN_IF_ERROR(matrix.Add(time.rank, time.step, seconds));
        }
        return OkStatus();
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
  const std::vector<int64_t> steps = matrix.Steps();
  if (steps.empty()) {
    map.own_time = false;
    map.from_step = map.to_step = query.from_step;
    return map;
  }
  const auto most = static_cast<int64_t>(std::clamp<size_t>(most_columns, 1, kMostWidth));
  const int64_t first = steps.front(), last = steps.back();
  map.bucket_steps = (last - first) / most + 1;
  while (last / map.bucket_steps - first / map.bucket_steps >= most) ++map.bucket_steps;
  map.from_step = FloorTo(first, map.bucket_steps);
  map.to_step = NextAfter(last, map.bucket_steps);
  const auto columns = static_cast<size_t>((map.to_step - map.from_step) / map.bucket_steps);
  const std::map<int64_t, std::string> nodes = NodesOfRanks(*query.job);
  std::vector<size_t> row_of(matrix.ranks().size());  // by column of the matrix
  for (const auto& [rank, index] : matrix.ranks()) {
    row_of[index] = map.rows.size();
    const auto node = nodes.find(rank);
    map.rows.push_back(
        {rank, node == nodes.end() ? "" : node->second, std::vector<double>(columns, NormalNan())});
  }
  std::vector<std::vector<double>> medians(columns);
  std::vector<double> durations;
  for (const int64_t step : steps) {
    const std::vector<double>& of_step = matrix.of(step);
    durations.clear();
    for (const double seconds : of_step) {
      if (!std::isnan(seconds)) durations.push_back(seconds);
    }
    const double median = MedianOf(durations);
    const auto column = static_cast<size_t>((step - map.from_step) / map.bucket_steps);
    medians[column].push_back(median);
    for (size_t i = 0; i < of_step.size(); ++i) {
      if (std::isnan(of_step[i])) continue;
      double& cell = map.rows[row_of[i]].cells[column];
      const double slowdown = median > 0 ? of_step[i] / median : NormalNan();
      if (std::isnan(cell) || slowdown > cell) cell = slowdown;
    }
  }
  for (std::vector<double>& of_column : medians)
    map.medians.push_back(MedianOf(std::move(of_column)));
  return map;
}

}  // namespace pitwall::insights
