#include "services/history/views/steps/phase_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kOther = "other";

// Sums of seconds by phase number.
struct Sums {
  std::vector<double> seconds;
  std::vector<bool> reported;
  void Add(size_t phase, double value) {
    if (phase >= seconds.size()) {
      seconds.resize(phase + 1, 0);
      reported.resize(phase + 1, false);
    }
    seconds[phase] += value;
    reported[phase] = true;
  }
};

struct RankSums {
  double total = 0;
  Sums sums;
};

// Visits the reported phases in name order.
template <typename Take>
void ForEachReported(const Sums& sums, const std::vector<std::string>& names,
                     const std::vector<size_t>& order, Take take) {
  for (const size_t phase : order) {
    if (phase < sums.seconds.size() && sums.reported[phase])
      take(names[phase], sums.seconds[phase]);
  }
}

}  // namespace

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
  std::vector<std::string> names = table.phases;
  const auto other =
      static_cast<size_t>(std::find(names.begin(), names.end(), kOther) - names.begin());
  if (other == names.size()) names.emplace_back(kOther);
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return names[a] < names[b]; });
  absl::flat_hash_set<int64_t> steps;
  absl::flat_hash_map<int64_t, RankSums> ranks;
  Sums sums;
  for (const StepRow& row : table.rows) {
    steps.insert(row.step);
    RankSums& rank = ranks[row.rank];
    rank.total += row.duration;
    out.total += row.duration;
    double accounted = 0;
    for (size_t i = 0; i < row.phases.size(); ++i) {
      if (std::isnan(row.phases[i])) continue;
      accounted += row.phases[i];
      rank.sums.Add(i, row.phases[i]);
      sums.Add(i, row.phases[i]);
    }
    // A remainder within the rounding error does not count as a phase.
    const double rest = row.duration - accounted;
    if (rest > 1e-9 * row.duration) {
      rank.sums.Add(other, rest);
      sums.Add(other, rest);
    }
  }
  out.steps = steps.size();
  double all = 0;
  ForEachReported(sums, names, order, [&](const std::string&, double seconds) { all += seconds; });
  ForEachReported(sums, names, order, [&](const std::string& phase, double seconds) {
    out.phases.push_back({phase, seconds, all > 0 ? seconds / all : 0});
  });
  std::stable_sort(out.phases.begin(), out.phases.end(),
                   [](const PhaseTime& a, const PhaseTime& b) { return a.seconds > b.seconds; });
  out.ranks.reserve(ranks.size());
  for (const auto& [id, rank] : ranks) {
    RankPhases& one = out.ranks.emplace_back();
    one.rank = id;
    one.total = rank.total;
    ForEachReported(rank.sums, names, order, [&](const std::string& phase, double seconds) {
      one.seconds.emplace_hint(one.seconds.end(), phase, seconds);
    });
  }
  std::sort(out.ranks.begin(), out.ranks.end(),
            [](const RankPhases& a, const RankPhases& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace pitwall::history
