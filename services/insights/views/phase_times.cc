#include "services/insights/views/phase_times.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace pitwall::insights {

StatusOr<PhaseTimes> MakePhaseTimes(const History& history, const StepQuery& query,
                                    size_t last_steps) {
  ASSIGN_OR_RETURN(const StepRange last, FindLastSteps(history, query, last_steps));
  PhaseTimes out;
  out.from_step = last.from_step;
  out.to_step = last.to_step;
  if (last.from_step == last.to_step) return out;
  StepQuery read = query;
  read.range = last.range;
  read.from_step = last.from_step;
  read.to_step = last.to_step;
  ASSIGN_OR_RETURN(const StepTable table, MakeStepTable(history, read));
  std::set<int64_t> steps;
  std::map<int64_t, RankPhases> ranks;
  std::map<std::string, double> sums;
  for (const StepRow& row : table.rows) {
    steps.insert(row.step);
    RankPhases& rank = ranks[row.rank];
    rank.rank = row.rank;
    rank.total += row.duration;
    out.total += row.duration;
    double told = 0;
    for (size_t i = 0; i < table.phases.size(); ++i) {
      if (std::isnan(row.phases[i])) continue;
      told += row.phases[i];
      rank.seconds[table.phases[i]] += row.phases[i];
      sums[table.phases[i]] += row.phases[i];
    }
    // Rounding of the sum is no phase.
    const double other = row.duration - told;
    if (other > 1e-9 * row.duration) {
      rank.seconds["other"] += other;
      sums["other"] += other;
    }
  }
  out.steps = steps.size();
  double all = 0;
  for (const auto& [phase, seconds] : sums) all += seconds;
  for (const auto& [phase, seconds] : sums)
    out.phases.push_back({phase, seconds, all > 0 ? seconds / all : 0});
  std::stable_sort(out.phases.begin(), out.phases.end(),
                   [](const PhaseTime& a, const PhaseTime& b) { return a.seconds > b.seconds; });
  for (auto& [id, rank] : ranks) out.ranks.push_back(std::move(rank));
  return out;
}

}  // namespace pitwall::insights
