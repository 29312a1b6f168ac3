// Output of `rules check --json`.
#pragma once

#include <string>

#include "rules/lang/diagnostic.h"
#include "rules/plan/cost/rule_cost.h"

namespace pitwall {

// Returns a JSON object on one line with the key `diagnostics`. If the rules compile (`program` is
// not null), the object also contains `rules` with the cost of each rule, `files`, and `total`. The
// keys are a public interface (docs/promql.md).
std::string RulesReport(const lang::Diagnostics& diagnostics, const plan::Program* program,
                        const plan::CostOptions& options);

}  // namespace pitwall
