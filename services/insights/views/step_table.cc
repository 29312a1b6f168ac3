#include "services/insights/views/step_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/base/strings.h"
#include "services/insights/views/selectors.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

int64_t RankOf(const Labels& labels) { return ParseInt(labels.Get("rank")).value_or(-1); }

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

using Key = std::tuple<int64_t, int64_t, int64_t>;  // step, rank, end
Key KeyOf(const StepRow& row) { return {row.step, row.rank, row.end_ns}; }

std::vector<StepRow> RowsOf(const std::vector<SampleColumn>& columns, const StepQuery& query) {
  std::vector<StepRow> rows;
  for (const SampleColumn& column : columns) {
    const int64_t rank = RankOf(column.labels);
    if (column.labels.Name() != kStepDuration || !Wanted(query, rank)) continue;
    for (size_t i = 0; i < column.times_ns.size() && i < column.steps.size(); ++i) {
      const double seconds = column.values[i];
      if (column.steps[i] == kNoStep || !std::isfinite(seconds)) continue;
      const auto ns = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9) * 1e9));
      rows.push_back({column.steps[i],
                      rank,
                      column.times_ns[i] - ns,
                      column.times_ns[i],
                      seconds,
                      {},
                      NormalNan()});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const StepRow& a, const StepRow& b) { return KeyOf(a) < KeyOf(b); });
  return rows;
}

// Indexes of rows of each rank, by their ends: columns are in the order of time too, so that a row
// is found beside the one before it.
class RowsByRank {
 public:
  explicit RowsByRank(const std::vector<StepRow>& rows) : rows_(rows) {
    for (size_t i = 0; i < rows.size(); ++i) ranks_[rows[i].rank].push_back(i);
    for (auto& [rank, of_rank] : ranks_) {
      std::stable_sort(of_rank.begin(), of_rank.end(),
                       [&](size_t a, size_t b) { return rows[a].end_ns < rows[b].end_ns; });
    }
  }
  // Calls `take` with the row and the index of each finite value that belongs to one; of rows with
  // one key the first.
  template <typename Take>
  void Join(int64_t rank, const SampleColumn& column, Take take) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return;
    const std::vector<size_t>& of_rank = found->second;
    size_t at = 0;
    for (size_t i = 0; i < column.times_ns.size() && i < column.steps.size(); ++i) {
      const int64_t end_ns = column.times_ns[i];
      while (at < of_rank.size() && rows_[of_rank[at]].end_ns < end_ns) ++at;
      if (!std::isfinite(column.values[i])) continue;
      for (size_t j = at; j < of_rank.size() && rows_[of_rank[j]].end_ns == end_ns; ++j) {
        if (rows_[of_rank[j]].step != column.steps[i]) continue;
        take(of_rank[j], i);
        break;
      }
    }
  }

 private:
  const std::vector<StepRow>& rows_;
  absl::flat_hash_map<int64_t, std::vector<size_t>> ranks_;
};

void AddUp(double* sum, double value) { *sum = std::isnan(*sum) ? value : *sum + value; }

StepTable TableOf(const std::vector<SampleColumn>& columns, const StepQuery& query) {
  StepTable table;
  table.rows = RowsOf(columns, query);
  std::set<std::string> names;
  for (const SampleColumn& column : columns) {
    if (column.labels.Name() == kPhaseDuration) names.emplace(column.labels.Get("phase"));
  }
  table.phases.assign(names.begin(), names.end());
  for (StepRow& row : table.rows) row.phases.assign(table.phases.size(), NormalNan());
  const RowsByRank places(table.rows);
  // Time in collectives by clock of who measured.
  absl::flat_hash_map<Key, std::map<std::string, double>> collectives;
  for (const SampleColumn& column : columns) {
    const bool phase = column.labels.Name() == kPhaseDuration;
    if (!phase && column.labels.Name() != kCollectiveTime) continue;
    const auto at =
        std::lower_bound(table.phases.begin(), table.phases.end(), column.labels.Get("phase"));
    const auto index = static_cast<size_t>(at - table.phases.begin());
    const std::string clock(column.labels.Get("clock"));
    places.Join(RankOf(column.labels), column, [&](size_t row, size_t i) {
      if (phase) {
        AddUp(&table.rows[row].phases[index], column.values[i]);
      } else {
        collectives[KeyOf(table.rows[row])][clock] += column.values[i];
      }
    });
  }
  const auto collective = std::find(table.phases.begin(), table.phases.end(), "collective");
  for (StepRow& row : table.rows) {
    if (collective != table.phases.end())
      row.wait = row.phases[static_cast<size_t>(collective - table.phases.begin())];
    const auto told = collectives.find(KeyOf(row));
    if (told == collectives.end()) continue;
    row.wait = 0;
    for (const auto& [clock, seconds] : told->second) row.wait = std::max(row.wait, seconds);
  }
  return table;
}

std::vector<StepTime> TimesOf(StepTable table) {
  std::sort(table.rows.begin(), table.rows.end(), [](const StepRow& a, const StepRow& b) {
    return std::tie(a.rank, a.end_ns, a.step) < std::tie(b.rank, b.end_ns, b.step);
  });
  std::vector<StepTime> out;
  out.reserve(table.rows.size());
  for (const StepRow& row : table.rows) out.push_back({row.step, row.rank, row.duration, row.wait});
  return out;
}

// Without a table: there may be a million of them.
std::vector<StepTime> TimesOf(const std::vector<SampleColumn>& columns, const StepQuery& query) {
  std::map<int64_t, std::vector<const SampleColumn*>> ranks;
  size_t count = 0;
  for (const SampleColumn& column : columns) {
    const int64_t rank = RankOf(column.labels);
    if (column.labels.Name() != kStepDuration || !Wanted(query, rank)) continue;
    ranks[rank].push_back(&column);
    count += column.steps.size();
  }
  std::vector<StepTime> out;
  out.reserve(count);
  for (const auto& [rank, of_rank] : ranks) {
    if (of_rank.size() > 1) {  // its labels changed: one column alone is in the order of time
      std::vector<SampleColumn> copies;
      for (const SampleColumn* column : of_rank) copies.push_back(*column);
      const StepTable table{{}, RowsOf(copies, query)};
      for (const StepTime& time : TimesOf(table)) out.push_back(time);
      continue;
    }
    const SampleColumn& column = *of_rank[0];
    for (size_t i = 0; i < column.steps.size(); ++i) {
      if (column.steps[i] != kNoStep && std::isfinite(column.values[i]))
        out.push_back({column.steps[i], rank, column.values[i], NormalNan()});
    }
  }
  return out;
}

}  // namespace

StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns,
                   history.Samples(QueryOf(query, kDurations)));
  return RowsOf(columns, query);
}

StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(QueryOf(query, kAll)));
  return TableOf(columns, query);
}

// What belongs to one run of a step has one time, so that it is in one part.
Status VisitStepTimes(const History& history, const StepQuery& query, bool waits,
                      const std::function<void()>& begin,
                      const std::function<Status(const std::vector<StepTime>&)>& visit) {
  return history.VisitSamples(
      QueryOf(query, waits ? kAll : kDurations), begin,
      [&](const std::vector<SampleColumn>& columns) {
        return visit(waits ? TimesOf(TableOf(columns, query)) : TimesOf(columns, query));
      });
}

namespace {

// From the job's first to its last step, within the query's range.
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

// The same without a look at series: ranks mostly step until they are last heard.
TimeRange RangeOfRanks(const StepQuery& query) {
  TimeRange range = {kMaxPosition, 0};
  for (const auto& [id, source] : query.job->sources) {
    if (source.rank < 0 || source.last_ns == 0 || !Wanted(query, source.rank)) continue;
    range.from_ns = std::min(range.from_ns, source.first_ns);
    range.to_ns = std::max(range.to_ns, source.last_ns + 1);
  }
  return range;
}

// Ascending.
StatusOr<std::vector<int64_t>> StepsWithin(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns,
                   history.Samples(QueryOf(query, kDurations)));
  absl::flat_hash_set<int64_t> steps;
  for (const SampleColumn& column : columns) {
    if (!Wanted(query, RankOf(column.labels))) continue;
    for (size_t i = 0; i < column.steps.size(); ++i) {
      if (column.steps[i] != kNoStep && std::isfinite(column.values[i]))
        steps.insert(column.steps[i]);
    }
  }
  std::vector<int64_t> out(steps.begin(), steps.end());
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
      if (steps.empty() && !exact) {  // they stopped before: where, the series know
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

std::map<int64_t, std::string> NodesOfRanks(const JobLife& job) {
  std::map<int64_t, std::string> out;
  for (const auto& [id, source] : job.sources) {
    if (source.rank >= 0) out[source.rank] = source.node;
  }
  return out;
}

}  // namespace pitwall::insights
