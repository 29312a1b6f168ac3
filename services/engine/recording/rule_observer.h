// Observer for one domain's evaluations. Used by tools that need more than events.
#pragma once

#include <cstdint>

#include "rules/alert/alert_state.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/eval_time.h"
#include "services/model/labels.h"

namespace pitwall::engine {

// All calls come from the domain's thread. References are valid only during the call.
class RuleObserver {
 public:
  virtual ~RuleObserver() = default;
  // Starts a tick. All later calls belong to this tick.
  virtual void TickBegins(const EvalTime& /*at*/) {}
  virtual void Failed(const plan::Rule& rule, const Status& error) = 0;
  // Called after an evaluation without an error.
  virtual void Alerts(const alert::AlertInput& input, const alert::AlertState& state) = 0;
  // Called when all alerts of the rule ended between ticks.
  virtual void Ended(const alert::AlertRule& /*rule*/) {}
  // Called when a rule has written a sample or a stale marker. The rule is a recording rule, or an
  // alerting rule if any selector reads ALERTS. Also called if the series already has a sample at
  // the position; the existing sample is kept.
  virtual void Recorded(const Labels& labels, Position position, double value) = 0;
  // Called when a recording rule has a sample that no selector reads. Stale markers are not
  // reported.
  virtual void Unread(const Labels& /*labels*/, Position /*position*/, double /*value*/) {}
};

}  // namespace pitwall::engine
