// Rendering of a Program for users: evaluation order, state and cost per series, and sharing
// between rules. For `rules check --explain`.
#pragma once

#include <string>

#include "rules/plan/cost/rule_cost.h"
#include "rules/plan/program/program.h"

namespace pitwall::plan {

std::string Explain(const Program& program, const CostOptions& options = {});

// Description of one window: function, selector, length, family, and panes.
std::string WindowText(const DomainPlan& domain, const WindowCost& window);

}  // namespace pitwall::plan
