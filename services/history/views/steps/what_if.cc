#include "services/history/views/steps/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "services/base/text/strings.h"

namespace pitwall::history {

StatusOr<WhatIf> MakeWhatIf(const History& history, const StepQuery& query, int64_t rank) {
  ASSIGN_OR_RETURN(const StepTable table, MakeStepTable(history, query));
  WhatIf out;
  std::set<int64_t> ranks;
  // Latest run of each step, by step and rank.
  std::map<int64_t, std::map<int64_t, const StepRow*>> steps;
  for (const StepRow& row : table.rows) {
    ranks.insert(row.rank);
    steps[row.step][row.rank] = &row;
  }
  if (!ranks.contains(rank)) {
    out.reason = Cat("no steps of rank ", rank, " in this range");
    return out;
  }
  if (ranks.size() < 2) {
    out.reason = "only one rank has steps";
    return out;
  }
  out.own_time = true;
  for (const auto& [step, of_step] : steps) {
    if (of_step.size() != ranks.size()) {
      ++out.left_out;
      continue;
    }
    ++out.steps;
    for (const auto& [other, row] : of_step) out.own_time = out.own_time && !std::isnan(row->wait);
  }
  if (out.steps == 0) {
    out.reason = Cat("no step has data from all ", ranks.size(), " ranks");
    out.own_time = false;
    return out;
  }
  out.computable = true;
  for (const auto& [step, of_step] : steps) {
    if (of_step.size() != ranks.size()) continue;
    double with = -INFINITY, without = -INFINITY;
    for (const auto& [other, row] : of_step) {
      const double seconds = out.own_time ? row->duration - row->wait : row->duration;
      with = std::max(with, seconds);
      if (other != rank) without = std::max(without, seconds);
    }
    out.with += with;
    out.without += without;
  }
  out.with /= static_cast<double>(out.steps);
  out.without /= static_cast<double>(out.steps);
  return out;
}

}  // namespace pitwall::history
