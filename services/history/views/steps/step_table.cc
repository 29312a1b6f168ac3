#include "services/history/views/steps/step_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/history/views/steps/selectors.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

bool Wanted(const StepQuery& query, int64_t rank) {
  return query.ranks.empty() ||
         std::find(query.ranks.begin(), query.ranks.end(), rank) != query.ranks.end();
}

SampleQuery QueryOf(const StepQuery& query, const std::vector<std::string_view>& metrics) {
  SampleQuery read;
  read.job = query.job->id;
  read.range = query.range;
  read.limits = query.limits;
  read.mode = query.mode;
  read.from_step = query.from_step;
  read.to_step = query.to_step;
  for (const std::string_view metric : metrics)
    read.selectors.push_back(SelectorOfMetric(metric, query.ranks));
  return read;
}

const std::vector<std::string_view> kDurations = {kStepDuration};
const std::vector<std::string_view> kAll = {kStepDuration, kPhaseDuration, kCollectiveTime};

auto KeyOf(const StepRow& row) { return std::tuple(row.step, row.rank, row.end_ns); }

// Returns rows sorted by (rank, end, step).
std::vector<StepRow> RowsOf(const std::vector<SampleColumn>& columns, const StepQuery& query) {
  std::map<int64_t, std::vector<const SampleColumn*>> ranks;
  size_t count = 0;
  for (const SampleColumn& column : columns) {
    if (column.labels.Name() != kStepDuration) continue;
    const int64_t rank = RankOf(column.labels);
    if (!Wanted(query, rank)) continue;
    ranks[rank].push_back(&column);
    count += column.steps.size();
  }
  std::vector<StepRow> rows;
  rows.reserve(count);
  for (const auto& [rank, of_rank] : ranks) {
    const auto first = static_cast<ptrdiff_t>(rows.size());
    for (const SampleColumn* column : of_rank) {
      for (size_t i = 0; i < column->times.size() && i < column->steps.size(); ++i) {
        const double seconds = column->values[i];
        if (column->steps[i] == kNoStep || !std::isfinite(seconds)) continue;
        const auto ns = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9) * 1e9));
        rows.push_back({column->steps[i],
                        rank,
                        column->times[i] - ns,
                        column->times[i],
                        seconds,
                        {},
                        NormalNan()});
      }
    }
    // A rank has several columns if its labels changed.
    if (of_rank.size() == 1) continue;
    std::stable_sort(rows.begin() + first, rows.end(), [](const StepRow& a, const StepRow& b) {
      return std::tie(a.end_ns, a.step) < std::tie(b.end_ns, b.step);
    });
  }
  return rows;
}

// Reorders rows from (rank, end) to (step, rank, end) with a counting sort, which is fast because
// ranks run the same steps.
void SortBySteps(std::vector<StepRow>* rows) {
  if (rows->empty()) return;
  const auto by_step = [](const StepRow& a, const StepRow& b) { return a.step < b.step; };
  const auto [least, greatest] = std::minmax_element(rows->begin(), rows->end(), by_step);
  const int64_t first = least->step;
  const auto range = static_cast<uint64_t>(greatest->step - first);
  if (range > 4 * rows->size() + 1024) {
    std::stable_sort(rows->begin(), rows->end(), by_step);
    return;
  }
  std::vector<size_t> places(static_cast<size_t>(range) + 2, 0);
  for (const StepRow& row : *rows) ++places[static_cast<size_t>(row.step - first) + 1];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  std::vector<StepRow> sorted(rows->size());
  for (const StepRow& row : *rows) sorted[places[static_cast<size_t>(row.step - first)]++] = row;
  *rows = std::move(sorted);
}

// Index of each rank's rows by end time. Columns are in time order too, so the row for each value
// is at or after the previous row.
class RowsByRank {
 public:
  explicit RowsByRank(const std::vector<StepRow>& rows) : rows_(rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || rows[i].rank != rows[i - 1].rank) ranks_[rows[i].rank].first = i;
      ranks_[rows[i].rank].second = i + 1;
    }
  }
  // Calls `take` with the row and the index of each finite value that belongs to a row. If several
  // rows have the same key, only the first row is passed.
  template <typename Take>
  void Join(int64_t rank, const SampleColumn& column, Take take) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return;
    auto [at, end] = found->second;
    for (size_t i = 0; i < column.times.size() && i < column.steps.size(); ++i) {
      const int64_t end_ns = column.times[i];
      while (at < end && rows_[at].end_ns < end_ns) ++at;
      if (!std::isfinite(column.values[i])) continue;
      for (size_t j = at; j < end && rows_[j].end_ns == end_ns; ++j) {
        if (rows_[j].step != column.steps[i]) continue;
        take(j, i);
        break;
      }
    }
  }

 private:
  const std::vector<StepRow>& rows_;
  // Index range of each rank's rows.
  absl::flat_hash_map<int64_t, std::pair<size_t, size_t>> ranks_;
};

void AddUp(double* sum, double value) { *sum = std::isnan(*sum) ? value : *sum + value; }

// Time in collectives, by clock.
class CollectiveTimes {
 public:
  explicit CollectiveTimes(size_t rows) : rows_(rows) {}
  std::vector<double>& Of(std::string_view clock) {
    return clocks_.try_emplace(std::string(clock), rows_, NormalNan()).first->second;
  }
  // Sets the wait to the larger of the two clocks' sums. Rows without data keep their wait.
  void Fill(std::vector<StepRow>* rows) const {
    for (size_t i = 0; i < rows->size(); ++i) {
      StepRow& row = (*rows)[i];
      if (i > 0 && KeyOf(row) == KeyOf((*rows)[i - 1])) {
        row.wait = (*rows)[i - 1].wait;
        continue;
      }
      double greatest = NormalNan();
      for (const auto& [clock, sums] : clocks_) {
        if (!std::isnan(sums[i])) greatest = std::max(std::isnan(greatest) ? 0 : greatest, sums[i]);
      }
      if (!std::isnan(greatest)) row.wait = greatest;
    }
  }

 private:
  const size_t rows_;
  std::map<std::string, std::vector<double>> clocks_;
};

// Returns the rows sorted by (rank, end, step).
StepTable TableOf(const std::vector<SampleColumn>& columns, const StepQuery& query) {
  StepTable table;
  table.rows = RowsOf(columns, query);
  std::set<std::string> names;
  for (const SampleColumn& column : columns) {
    if (column.labels.Name() == kPhaseDuration) names.emplace(column.labels.Get("phase"));
  }
  table.phases.assign(names.begin(), names.end());
  const size_t width = table.phases.size();
  table.seconds.assign(table.rows.size() * width, NormalNan());
  for (size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].phases = std::span(table.seconds).subspan(i * width, width);
  const RowsByRank places(table.rows);
  CollectiveTimes collectives(table.rows.size());
  for (const SampleColumn& column : columns) {
    const bool phase = column.labels.Name() == kPhaseDuration;
    if (!phase && column.labels.Name() != kCollectiveTime) continue;
    const int64_t rank = RankOf(column.labels);
    if (phase) {
      const auto at =
          std::lower_bound(table.phases.begin(), table.phases.end(), column.labels.Get("phase"));
      const auto index = static_cast<size_t>(at - table.phases.begin());
      places.Join(rank, column, [&](size_t row, size_t i) {
        AddUp(&table.seconds[row * width + index], column.values[i]);
      });
    } else {
      std::vector<double>& sums = collectives.Of(column.labels.Get("clock"));
      places.Join(rank, column, [&](size_t row, size_t i) { AddUp(&sums[row], column.values[i]); });
    }
  }
  const auto collective = std::find(table.phases.begin(), table.phases.end(), kCollective);
  if (collective != table.phases.end()) {
    const auto index = static_cast<size_t>(collective - table.phases.begin());
    for (StepRow& row : table.rows) row.wait = row.phases[index];
  }
  collectives.Fill(&table.rows);
  return table;
}

// Selects the data needed to compute the wait, without the other phases.
SampleQuery QueryOfWaits(const StepQuery& query) {
  SampleQuery read = QueryOf(query, kAll);
  for (Selector& selector : read.selectors) {
    if (selector.MetricName() == kPhaseDuration)
      selector = WithLabel(std::move(selector), "phase", kCollective);
  }
  return read;
}

// Visits the rows of each rank. `rows` must be in rank order.
Status ForEachRank(const std::vector<StepRow>& rows, bool own,
                   const std::function<Status(const RankSteps&)>& visit) {
  std::vector<int64_t> steps;
  std::vector<double> seconds;
  for (size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    steps.push_back(row.step);
    seconds.push_back(!own                   ? row.duration
                      : std::isnan(row.wait) ? NormalNan()
                                             : std::max(0.0, row.duration - row.wait));
    if (i + 1 < rows.size() && rows[i + 1].rank == row.rank) continue;
    RETURN_IF_ERROR(visit({row.rank, steps, seconds}));
    steps.clear();
    seconds.clear();
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns,
                   history.Samples(QueryOf(query, kDurations)));
  std::vector<StepRow> rows = RowsOf(columns, query);
  SortBySteps(&rows);
  return rows;
}

StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(QueryOf(query, kAll)));
  StepTable table = TableOf(columns, query);
  SortBySteps(&table.rows);
  return table;
}

SampleQuery QueryOfStepTimes(const StepQuery& query, bool own) {
  return own ? QueryOfWaits(query) : QueryOf(query, kDurations);
}

// Avoids creating rows if possible, because there may be a million of them. All samples from one
// run of a step have the same time, so they are in a single part.
Status VisitStepTimes(const std::vector<SampleColumn>& columns, const StepQuery& query, bool own,
                      const std::function<Status(const RankSteps&)>& visit) {
  StepTimes times;
  for (const auto& [rank, of_rank] : ColumnsByRank(columns)) {
    if (!Wanted(query, rank)) continue;
    if (!own && of_rank.size() == 1) {  // the column is in time order
      if (of_rank[0]->steps.empty()) continue;
      RETURN_IF_ERROR(visit({rank, of_rank[0]->steps, of_rank[0]->values}));
      continue;
    }
    if (times.Read(of_rank, own)) {
      const RankSteps steps = times.steps(rank);
      if (!steps.steps.empty()) RETURN_IF_ERROR(visit(steps));
      continue;
    }
    std::vector<SampleColumn> copies;
    for (const SampleColumn* column : of_rank) copies.push_back(*column);
    RETURN_IF_ERROR(ForEachRank(TableOf(copies, query).rows, own, visit));
  }
  return OkStatus();
}

namespace {

// Returns the time range from the job's first step to its last step, within the query's range.
StatusOr<TimeRange> RangeOfSteps(const History& history, const StepQuery& query) {
  SeriesQuery series = {
      query.job->id, {SelectorOfMetric(kStepDuration, query.ranks)}, query.range, query.limits};
  ASSIGN_OR_RETURN(const std::vector<SeriesInfo> infos, history.Series(series));
  TimeRange range = {kMaxPosition, 0};
  for (const SeriesInfo& info : infos) {
    range.from_ns = std::min(range.from_ns, info.first_ns);
    range.to_ns = std::max(range.to_ns, info.last_ns + 1);
  }
  return range;
}

// Estimates the range that RangeOfSteps returns, without reading series. Most ranks run steps until
// they stop sending data.
TimeRange RangeOfRanks(const StepQuery& query) {
  TimeRange range = {kMaxPosition, 0};
  for (const auto& [id, source] : query.job->sources) {
    if (source.rank < 0 || source.last_ns == 0 || !Wanted(query, source.rank)) continue;
    range.from_ns = std::min(range.from_ns, source.first_ns);
    range.to_ns = std::max(range.to_ns, source.last_ns + 1);
  }
  return range;
}

// Returns the steps in ascending order.
StatusOr<std::vector<int64_t>> StepsWithin(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns,
                   history.Samples(QueryOf(query, kDurations)));
  std::vector<int64_t> out;
  absl::flat_hash_map<int64_t, size_t> places;  // index of each step in `out`
  for (const SampleColumn& column : columns) {
    if (!Wanted(query, RankOf(column.labels))) continue;
    size_t next = 0;  // usually the next step, because all ranks run the same steps in order
    for (size_t i = 0; i < column.steps.size(); ++i) {
      const int64_t step = column.steps[i];
      if (step == kNoStep || !std::isfinite(column.values[i])) continue;
      if (next >= out.size() || out[next] != step) {
        const auto [at, added] = places.try_emplace(step, out.size());
        if (added) out.push_back(step);
        next = at->second;
      }
      ++next;
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

StatusOr<StepRange> FindLastSteps(const History& history, const StepQuery& query, size_t count) {
  if (count == 0) return StepRange{};
  TimeRange all = RangeOfRanks(query);
  bool exact = all.from_ns >= all.to_ns;
  if (exact) {
    ASSIGN_OR_RETURN(all, RangeOfSteps(history, query));
  }
  for (int64_t reach_ns = 60 * kNanosPerSecond;; reach_ns *= 4) {
    const int64_t last_ns = std::min(all.to_ns, query.range.to_ns) - 1;
    const int64_t first_ns = std::max(all.from_ns, query.range.from_ns);
    if (last_ns < first_ns) return StepRange{};
    StepQuery tail = query;
    tail.range = {std::max(first_ns, last_ns - reach_ns), last_ns + 1};
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, StepsWithin(history, tail));
    if (steps.size() <= count && tail.range.from_ns > first_ns) {
      if (steps.empty() && !exact) {  // if ranks stopped earlier, their exact times must be read
        exact = true;
        ASSIGN_OR_RETURN(all, RangeOfSteps(history, query));
        reach_ns /= 4;
      }
      continue;
    }
    if (steps.empty()) return StepRange{};
    const auto skipped = steps.size() > count ? steps.size() - count : 0;
    return StepRange{steps[skipped], steps.back() + 1, tail.range};
  }
}

std::map<int64_t, std::string> NodesOfRanks(const JobOverview& job) {
  std::map<int64_t, std::string> out;
  for (const auto& [id, source] : job.sources) {
    if (source.rank >= 0) out[source.rank] = source.node;
  }
  return out;
}

}  // namespace pitwall::history
