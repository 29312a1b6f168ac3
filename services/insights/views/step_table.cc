#include "services/insights/views/step_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
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

// Places of rows by key; of equal ones the first.
absl::flat_hash_map<Key, size_t> PlacesOf(const std::vector<StepRow>& rows) {
  absl::flat_hash_map<Key, size_t> places;
  places.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) places.try_emplace(KeyOf(rows[i]), i);
  return places;
}

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
  const absl::flat_hash_map<Key, size_t> places = PlacesOf(table.rows);
  // Time in collectives by clock of who measured.
  absl::flat_hash_map<Key, std::map<std::string, double>> collectives;
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
      const auto place = places.find(key);
      if (place == places.end()) continue;
      if (phase) {
        AddUp(&table.rows[place->second].phases[index], column.values[i]);
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
