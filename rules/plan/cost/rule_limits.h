// Limits on what one rule may cost, by the estimate of rule_cost.h: a rule beyond one is an error
// when it is loaded, with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

// The names are those of the configuration (rules.limits) and of `rules check --limit NAME=VALUE`.
struct RuleLimits {
  // State of one series: a rule at this limit over 1,000 series holds 16 GiB.
  int64_t state_bytes_per_series = int64_t{16} << 20;
  // Label values that a rule computes for one series: as many bytes as an evaluation allows in one
  // label set (rules/eval/label_limits.h).
  int64_t label_bytes_per_series = int64_t{64} << 10;
  // Work of one series and evaluation, nanoseconds: 1 ms is one core for 1,000 series at 1 s.
  int64_t work_ns_per_series = 1'000'000;
  // Subqueries in subqueries; each level multiplies the evaluations of the one inside.
  int64_t subquery_depth = 4;
  friend bool operator==(const RuleLimits&, const RuleLimits&) = default;
};

// "state_bytes_per_series=1048576". InvalidArgument: an unknown name, or no number greater than 0.
Status SetLimit(std::string_view text, RuleLimits* limits);

// `program` is the plan of `rule_set`. Adds an error for each limit that a rule crosses.
void CheckLimits(const check::CheckedRuleSet& rule_set, const Program& program,
                 const RuleLimits& limits, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
