// A history that was lost (time-model.md, section 6): what rules cannot judge until their windows
// are full.
#include <algorithm>

#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/rule_state.h"

namespace pitwall::engine {

void ClockDomain::LoseHistory() {
  history_lost_ = attempt_lost_ = true;
  history_from_ = kMinPosition;
}

int64_t ClockDomain::ReachOf(const RuleState& state) const {
  int64_t reach = 0;
  for (const plan::DemandRef& ref : state.demands) {
    if (ref.source > 0) continue;
    const Demand& demand = domain().demands.demands[ref.demand];
    int64_t range = demand.range;
    // How many samples come is not known: at least one at each tick, as rules are written for.
    if (demand.kind == WindowKind::kSamples) range = demand.range * demand.interval;
    // Of the attempt: no length says when. An instant needs no more than its sample.
    if (demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst) range = 0;
    reach = std::max(reach, range + demand.offset);
  }
  for (const uint32_t subquery : state.subqueries) reach += domain().subqueries[subquery].reach;
  return reach;
}

bool ClockDomain::StillLost(const RuleState& state, int64_t position) const {
  if (!history_lost_) return false;
  if (history_from_ == kMinPosition) return true;
  if (attempt_lost_) {
    for (const plan::DemandRef& ref : state.demands) {
      if (ref.source > 0) continue;
      const WindowKind kind = domain().demands.demands[ref.demand].kind;
      if (kind == WindowKind::kAttempt || kind == WindowKind::kFirst) return true;
    }
  }
  // What the rule reads may be recorded, from windows that were empty too.
  int64_t recorded = 0;
  for (const GroupState& group : groups_) {
    for (const auto& other : group.rules) {
      if (other->rule->kind == plan::RuleKind::kRecord)
        recorded = std::max(recorded, ReachOf(*other));
    }
  }
  return position < history_from_ + ReachOf(state) + recorded;
}

std::string ClockDomain::HistoryLostReason(const RuleState& state, const EvalTime& at) const {
  if (!StillLost(state, clock().step ? last_tick_ : at.position)) return "";
  return "history lost: records or state from before are gone; in Error until the windows of the "
         "rule are full";
}

void ClockDomain::SaveHistoryLost(BinaryWriter& out) const {
  out.Bool(history_lost_);
  out.Bool(attempt_lost_);
  out.I64(history_from_);
}

void ClockDomain::RestoreHistoryLost(BinaryReader& in) {
  history_lost_ = in.Bool();
  attempt_lost_ = in.Bool();
  history_from_ = in.I64();
}

}  // namespace pitwall::engine
