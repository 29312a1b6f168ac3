// Input and limits of one evaluation of an alerting rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rules/eval/vector.h"
#include "rules/templates/template.h"
#include "services/model/eval_time.h"

namespace pitwall::alert {

using templates::TemplateQueries;

struct AlertInput {
  EvalTime at;
  const eval::Vector* expr = nullptr;
  // Rule::subject. Null: there is none, and an end is always `cleared`.
  const eval::Vector* subject = nullptr;
  const eval::Vector* clear = nullptr;          // null: no hysteresis
  const eval::Vector* clear_subject = nullptr;  // left side in `clear`; null: same as `subject`
  std::span<const double> parameters;           // one per DomainPlan::parameters
  // Answers the queries of templates at this tick; ids are those of nodes. Null: they fail.
  TemplateQueries* queries = nullptr;
};

struct AlertOptions {
  // Maximum number of alerts of one rule on one job. Beyond it a step fails without effect.
  size_t max_alerts = 10'000;
  size_t max_label_bytes = size_t{64} << 20;  // of their labels (LabelBytes); likewise
  bool report_pending = true;                 // report kPending and kDropped, which make no event
  int64_t min_update_ns = 60'000'000'000;     // minimum time between an event and kUpdated
  int64_t max_update_ns = 300'000'000'000;    // time after which kUpdated reports no change
};

}  // namespace pitwall::alert
