// Output of `rules check --json`.
#pragma once

#include <string>

#include "rules/lang/diagnostic.h"
#include "rules/plan/cost/rule_cost.h"

namespace pitwall {

// Returns one JSON object in one line: `diagnostics`, and if the rules compile (`program` is not
// null), `rules` with the cost of each, `files`, and `total`. The keys are part of the interface:
// docs/promql.md.
std::string RulesReport(const lang::Diagnostics& diagnostics, const plan::Program* program,
                        const plan::CostOptions& options);

}  // namespace pitwall
