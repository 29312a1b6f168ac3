// State of one rule in a domain between ticks, for one job. Private to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/alert/status/rule_status.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/recording/rule_output.h"
#include "services/engine/rules/history_loss.h"
#include "services/engine/rules/minimum_history.h"
#include "services/engine/rules/rule_needs.h"

namespace pitwall::engine {

// Constant properties of a rule, derived from its plan.
struct RuleSpec {
  RuleSpec(const plan::DomainPlan& domain, const plan::Group& group, const plan::Rule& rule,
           bool across_ranks);

  bool alerting() const { return rule.kind == plan::RuleKind::kAlert; }

  const plan::Rule& rule;
  const Duration interval;  // interval of the group
  const bool align_job;     // alignment of the group
  const uint32_t limit;     // limit of the group; 0 if unlimited
  const bool across_ranks;  // combines series of several ranks (rank_scope.h); only on a step clock
  const History minimum_history;
  // Demands that expr and clear read.
  std::vector<plan::DemandRef> demands;
  // Subqueries in all expressions of the rule.
  std::vector<uint32_t> subqueries;
  HistoryLoss::Reach reach;  // excludes windows of the recorded series that the rule reads
};

// Not thread-safe.
struct RuleState {
  // Borrows the plan and `output`.
  RuleState(const plan::DomainPlan& domain, const plan::Group& group, const plan::Rule& rule,
            bool across_ranks, RuleOutput* output);

  size_t firing() const { return alerts.has_value() ? alerts->firing() : 0; }

  // Takes over the state of the same rule in another program. `domain` contains this rule.
  void Inherit(RuleState* from, const plan::DomainPlan& domain);

  void Save(BinaryWriter& out) const;
  // Returns DataLoss for damaged data or the state of another rule.
  Status Restore(BinaryReader& in);

  const RuleSpec spec;
  Status broken;  // error of a rule that can never be evaluated (CheckRule)
  std::optional<alert::AlertState> alerts;  // set for alerting rules unless broken
  alert::RuleStatusMachine status;
  alert::InputWatch inputs;
  RuleNeeds needs;
  HistoryGate history_wait;  // error at the last tick
  RuleOutput* const output;
};

}  // namespace pitwall::engine
