// Output of `rules check --json`.
#pragma once

#include <string>

#include "rules/lang/diagnostic.h"
#include "rules/plan/cost/rule_cost.h"

namespace pitwall {

// One JSON object, a line: `diagnostics`, and, where it compiles (`program` not null), `rules` with
// the cost of each, `files` and `total`. Keys are part of the interface: docs/promql.md.
std::string RulesReport(const lang::Diagnostics& diagnostics, const plan::Program* program,
                        const plan::CostOptions& options);

}  // namespace pitwall
