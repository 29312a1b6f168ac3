#include "services/insights/views/step_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

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

StatusOr<std::vector<SampleColumn>> Read(const History& history, const StepQuery& query,
                                         std::vector<std::string_view> metrics) {
  SampleQuery read;
  read.job = query.job->id;
  read.range = query.range;
  read.limits = query.limits;
  read.mode = query.mode;
  read.from_step = query.from_step;
  read.to_step = query.to_step;
  for (const std::string_view metric : metrics)
    read.selectors.push_back(SelectorOfMetric(metric, query.ranks));
  return history.Samples(read);
}

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

StepRow* Find(std::vector<StepRow>* rows, const Key& key) {
  const auto at =
      std::lower_bound(rows->begin(), rows->end(), key,
                       [](const StepRow& row, const Key& wanted) { return KeyOf(row) < wanted; });
  return at == rows->end() || KeyOf(*at) != key ? nullptr : &*at;
}

void AddUp(double* sum, double value) { *sum = std::isnan(*sum) ? value : *sum + value; }

}  // namespace

StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, Read(history, query, {kStepDuration}));
  return RowsOf(columns, query);
}

StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query) {
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns,
                   Read(history, query, {kStepDuration, kPhaseDuration, kCollectiveTime}));
  StepTable table;
  table.rows = RowsOf(columns, query);
  std::set<std::string> names;
  for (const SampleColumn& column : columns) {
    if (column.labels.Name() == kPhaseDuration) names.emplace(column.labels.Get("phase"));
  }
  table.phases.assign(names.begin(), names.end());
  for (StepRow& row : table.rows) row.phases.assign(table.phases.size(), NormalNan());
  // Time in collectives by clock of who measured.
  std::map<Key, std::map<std::string, double>> collectives;
  for (const SampleColumn& column : columns) {
    const bool phase = column.labels.Name() == kPhaseDuration;
    if (!phase && column.labels.Name() != kCollectiveTime) continue;
    const auto at =
        std::lower_bound(table.phases.begin(), table.phases.end(), column.labels.Get("phase"));
    const auto index = static_cast<size_t>(at - table.phases.begin());
    const int64_t rank = RankOf(column.labels);
    const std::string clock(column.labels.Get("clock"));
    for (size_t i = 0; i < column.times_ns.size() && i < column.steps.size(); ++i) {
      if (!std::isfinite(column.values[i])) continue;
      const Key key = {column.steps[i], rank, column.times_ns[i]};
      StepRow* row = Find(&table.rows, key);
      if (row == nullptr) continue;
      if (phase) {
        AddUp(&row->phases[index], column.values[i]);
      } else {
        collectives[key][clock] += column.values[i];
      }
    }
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

StatusOr<StepRange> FindLastSteps(const History& history, const StepQuery& query, size_t count) {
  SeriesQuery series = {
      query.job->id, {SelectorOfMetric(kStepDuration, query.ranks)}, query.range, query.limits};
  ASSIGN_OR_RETURN(const std::vector<SeriesInfo> infos, history.Series(series));
  if (infos.empty() || count == 0) return StepRange{};
  int64_t first_ns = kMaxPosition, last_ns = 0;
  for (const SeriesInfo& info : infos) {
    first_ns = std::min(first_ns, info.first_ns);
    last_ns = std::max(last_ns, info.last_ns);
  }
  last_ns = std::min(last_ns, query.range.to_ns - 1);
  first_ns = std::max(first_ns, query.range.from_ns);
  for (int64_t reach_ns = 60 * kNanosPerSecond;; reach_ns *= 4) {
    StepQuery tail = query;
    tail.range = {std::max(first_ns, last_ns - reach_ns), last_ns + 1};
    ASSIGN_OR_RETURN(const std::vector<StepRow> rows, ReadStepDurations(history, tail));
    std::set<int64_t> steps;
    for (const StepRow& row : rows) steps.insert(row.step);
    if (steps.size() <= count && tail.range.from_ns > first_ns) continue;
    if (steps.empty()) return StepRange{};
    const auto skipped = steps.size() > count ? steps.size() - count : 0;
    return StepRange{*std::next(steps.begin(), static_cast<ptrdiff_t>(skipped)),
                     *steps.rbegin() + 1, tail.range};
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
