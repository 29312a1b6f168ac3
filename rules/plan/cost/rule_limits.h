// Limits on the estimated cost of one rule (rule_cost.h). Loading a rule that exceeds a limit fails
// with an error that includes the rule's position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

// The names are also those in the configuration (rules.limits) and in `rules check --limit
// NAME=VALUE`.
struct RuleLimits {
  // State per series. A rule at this limit uses 16 GiB for 1,000 series.
  int64_t state_bytes_per_series = int64_t{16} << 20;
  // Label values that a rule computes per series. The default equals an evaluation's limit for one
  // label set (rules/eval/label_limits.h).
  int64_t label_bytes_per_series = int64_t{64} << 10;
  // Work per series and evaluation in nanoseconds. At 1 ms, 1,000 series evaluated every second
  // need one core.
  int64_t work_ns_per_series = 1'000'000;
  // Nesting depth of subqueries. Each level multiplies the evaluations of the inner level.
  int64_t subquery_depth = 4;
  friend bool operator==(const RuleLimits&, const RuleLimits&) = default;
};

// Parses a limit such as "state_bytes_per_series=1048576". Returns InvalidArgument for an unknown
// name or a value that is not positive.
Status SetLimit(std::string_view text, RuleLimits* limits);

// Adds an error for each exceeded limit. `program` must be the plan of `rule_set`.
void CheckLimits(const check::CheckedRuleSet& rule_set, const Program& program,
                 const RuleLimits& limits, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
