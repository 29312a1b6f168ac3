// Limits on the estimated cost of one rule (rule_cost.h). A rule that exceeds one is an error with
// a position when it is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

// The names match the configuration (rules.limits) and `rules check --limit NAME=VALUE`.
struct RuleLimits {
  // State per series: a rule at this limit over 1,000 series holds 16 GiB.
  int64_t state_bytes_per_series = int64_t{16} << 20;
  // Label values that a rule computes per series: the limit that an evaluation has for one label
  // set (rules/eval/label_limits.h).
  int64_t label_bytes_per_series = int64_t{64} << 10;
  // Work per series and evaluation in nanoseconds: 1 ms is one core for 1,000 series at 1 s.
  int64_t work_ns_per_series = 1'000'000;
  // Nesting of subqueries; each level multiplies the evaluations of the inner one.
  int64_t subquery_depth = 4;
  friend bool operator==(const RuleLimits&, const RuleLimits&) = default;
};

// Parses "state_bytes_per_series=1048576". Returns InvalidArgument for an unknown name or a value
// that is not positive.
Status SetLimit(std::string_view text, RuleLimits* limits);

// `program` is the plan of `rule_set`. Adds an error for each exceeded limit.
void CheckLimits(const check::CheckedRuleSet& rule_set, const Program& program,
                 const RuleLimits& limits, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
