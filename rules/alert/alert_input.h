// Input and limits of one evaluation of an alerting rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rules/eval/vector.h"
#include "rules/templates/template.h"
#include "services/base/time.h"
#include "services/model/eval_time.h"

namespace pitwall::alert {

using templates::TemplateQueries;

struct AlertInput {
  EvalTime at;
  const eval::Vector* expr = nullptr;
  // Rule::subject. Null if the rule has no subject; its alerts then always end as `cleared`.
  const eval::Vector* subject = nullptr;
  const eval::Vector* clear = nullptr;          // null if the rule has no hysteresis
  const eval::Vector* clear_subject = nullptr;  // left side in `clear`; null if it equals `subject`
  std::span<const double> parameters;           // one per DomainPlan::parameters
  // Executes template queries at this tick. Query IDs are node IDs. If null, queries fail.
  TemplateQueries* queries = nullptr;
};

struct AlertOptions {
  // Maximum number of alerts of one rule on one job. A step that exceeds the limit fails and
  // changes nothing.
  size_t max_alerts = 10'000;
  size_t max_label_bytes = size_t{64} << 20;  // same for the alerts' labels (LabelBytes)
  bool report_pending = true;  // report kPending and kDropped, which do not cause events
  Duration min_update = Duration::Minutes(1);  // minimum time between an event and kUpdated
  Duration max_update = Duration::Minutes(5);  // time until kUpdated without a change
};

}  // namespace pitwall::alert
