#include "services/engine/rules/rule_table.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/engine/rules/rank_scope.h"

namespace pitwall::engine {

namespace {

bool MayMatchName(const Selector& selector, std::string_view name) {
  for (const Matcher& matcher : selector.matchers) {
    if (matcher.label() == kMetricName && !matcher.Matches(name)) return false;
  }
  return true;
}

}  // namespace

RuleTable::RuleTable(const plan::DomainPlan& domain, RecordedSeries* recorded) {
  std::vector<std::vector<bool>> across(domain.groups.size());
  if (domain.demands.clock.step) across = RulesAcrossRanks(domain);
  for (size_t g = 0; g < domain.groups.size(); ++g) {
    const plan::Group& group = domain.groups[g];
    across[g].resize(group.rules.size(), false);
    Group& states = groups_.emplace_back();
    for (size_t r = 0; r < group.rules.size(); ++r) {
      states.push_back(std::make_unique<RuleState>(domain, group, group.rules[r], across[g][r],
                                                   recorded->OutputOf(g, r)));
      const RuleSpec& spec = states.back()->spec;
      if (!spec.alerting()) recorded_reach_ = std::max(recorded_reach_, spec.reach.length);
    }
  }
  for (const Selector& selector : domain.demands.selectors) {
    alerts_wanted_ = alerts_wanted_ || MayMatchName(selector, "ALERTS") ||
                     MayMatchName(selector, "ALERTS_FOR_STATE");
  }
}

bool RuleTable::HasActiveAlerts() const {
  bool active = false;
  ForEach([&](const RuleState& state) {
    active = active || (state.alerts.has_value() && !state.alerts->IsEmpty());
  });
  return active;
}

size_t RuleTable::Firing(std::string_view rule) const {
  for (const Group& group : groups_) {
    for (const auto& state : group) {
      if (state->spec.alerting() && state->spec.rule.name == rule) return state->firing();
    }
  }
  return 0;
}

bool RuleTable::SetRootCause(const IncidentTracker::RootCauseChange& change) {
  for (const Group& group : groups_) {
    for (const auto& state : group) {
      if (state->spec.rule.name == change.rule && state->alerts.has_value() &&
          state->alerts->SetRootCause(change.labels, change.root_cause, change.told))
        return true;
    }
  }
  return false;
}

std::vector<RuleStatusNow> RuleTable::Statuses() const {
  std::vector<RuleStatusNow> statuses;
  ForEach([&](const RuleState& state) {
    if (state.spec.alerting())
      statuses.push_back({&state.spec.rule, state.status.status(), state.status.reason()});
  });
  return statuses;
}

bool RuleTable::IsAffected(const RuleState& state, const HistoryLoss& loss,
                           Position position) const {
  HistoryLoss::Reach reach = state.spec.reach;
  // The rule may read a recorded series that was computed over incomplete windows.
  reach.length += recorded_reach_;
  return loss.Affects(reach, position);
}

bool RuleTable::IsAnyAffected(const HistoryLoss& loss, Position position) const {
  bool affected = false;
  ForEach(
      [&](const RuleState& state) { affected = affected || IsAffected(state, loss, position); });
  return affected;
}

void RuleTable::SaveGroup(size_t group, BinaryWriter& out) const {
  out.U64(groups_[group].size());
  for (const auto& state : groups_[group]) state->Save(out);
}

Status RuleTable::RestoreGroup(size_t group, std::string_view name, BinaryReader& in) {
  if (in.U64() != groups_[group].size())
    return DataLoss(Cat("snapshot: group ", name, " has different rules"));
  for (const auto& state : groups_[group]) RETURN_IF_ERROR(state->Restore(in));
  return OkStatus();
}

}  // namespace pitwall::engine
