// Rules in one domain, by group, with their state for one job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/incidents/incidents.h"
#include "services/engine/recording/recorded_series.h"
#include "services/engine/rules/history_loss.h"
#include "services/engine/rules/rule_state.h"
#include "services/model/issues/issue.h"

namespace pitwall::engine {

// Current status of one rule. Its reason includes progress that events do not report.
struct RuleStatusNow {
  const plan::Rule* rule = nullptr;
  RuleStatus status = RuleStatus::kUnknown;  // kUnknown before the first tick.
  std::string_view reason;
};

// Not thread-safe.
class RuleTable {
 public:
  using Group = std::vector<std::unique_ptr<RuleState>>;

  // Borrows the plan and `recorded`, which may be moved but must outlive this object.
  RuleTable(const plan::DomainPlan& domain, RecordedSeries* recorded);

  // Groups and rules in program order.
  std::span<const Group> groups() const { return groups_; }
  // Calls f(RuleState&) for each rule in program order.
  template <typename F>
  void ForEach(F f) const {
    for (const Group& group : groups_) {
      for (const auto& state : group) f(*state);
    }
  }

  // Returns whether any selector in the domain may read ALERTS or ALERTS_FOR_STATE.
  bool alerts_wanted() const { return alerts_wanted_; }
  // Returns whether any alert is pending or firing.
  bool HasActiveAlerts() const;
  // Returns the number of firing alerts for the alerting rule with that name, or 0 if there is no
  // such rule.
  size_t Firing(std::string_view rule) const;
  // Returns false if no rule has the issue.
  bool SetRootCause(const IncidentTracker::RootCauseChange& change);
  // Returns the statuses of all alerting rules. Valid until the next call that changes a rule.
  std::vector<RuleStatusNow> Statuses() const;

  // Returns whether the loss prevents the evaluation of the rule at the position.
  bool IsAffected(const RuleState& state, const HistoryLoss& loss, Position position) const;
  bool IsAnyAffected(const HistoryLoss& loss, Position position) const;

  void SaveGroup(size_t group, BinaryWriter& out) const;
  // Returns DataLoss for damaged data or the state of other rules. `name` is the group's name.
  Status RestoreGroup(size_t group, std::string_view name, BinaryReader& in);

 private:
  std::vector<Group> groups_;
  bool alerts_wanted_ = false;
  Duration recorded_reach_;  // Maximum reach of the recording rules.
};

}  // namespace pitwall::engine
