// Everything that one rule remembers about one job between ticks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/alert/rule_status.h"
#include "rules/plan/program/program.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/minimum_history.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

inline std::vector<std::string> NeedNames(const plan::Rule& rule) {
  std::vector<std::string> names;
  for (const plan::Need& need : rule.needs) names.push_back(need.metric);
  return names;
}

struct ClockDomain::RuleState {
  RuleState(const plan::DomainPlan& domain, const plan::Group& group, const plan::Rule& compiled,
            bool across_ranks);

  const plan::Rule* rule;
  const int64_t interval;                   // of its group
  const bool align_job;                     // of its group
  const uint32_t limit;                     // of its group; 0: none
  const bool across_ranks;                  // see rank_scope.h; false on the time clock
  Status broken;                            // why it cannot be evaluated at all (as CheckRule)
  std::optional<alert::AlertState> alerts;  // alerting rules that are not broken
  alert::RuleStatusMachine status;
  alert::InputWatch inputs;
  std::vector<uint8_t> needs_met;
  bool needs_judged = false;  // step clock: by JudgeNeeds, on the time clock
  const History history;
  HistoryGate history_wait;  // at the last tick

  // Below expr and clear.
  std::vector<plan::DemandRef> demands;
  std::vector<uint32_t> subqueries;

  // Series that this rule records: (id, value) of this tick and ids of the last one, both sorted by
  // id.
  std::vector<std::pair<window::SeriesId, double>> written;
  std::vector<window::SeriesId> last_written;
  // Ids of the recorded series, by element of the result, as long as its binding stays.
  uint64_t binding = 0;
  std::vector<window::SeriesId> element_ids;
  // Where the rule's labels make elements alike: which of its outputs each element is, and the
  // serial of the tick that had that output. Empty while no two can be alike.
  std::vector<uint32_t> element_outputs;
  std::vector<uint64_t> output_seen;
  uint64_t serial = 0;
};

}  // namespace pitwall::engine
