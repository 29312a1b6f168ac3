// Human-readable rendering of a Program for `rules check --explain`: evaluation order, state and
// cost per series, and sharing between rules.
#pragma once

#include <string>

#include "rules/plan/cost/rule_cost.h"
#include "rules/plan/program/program.h"

namespace pitwall::plan {

std::string Explain(const Program& program, const CostOptions& options = {});

// Returns a description of one window: function, selector, length, family, and panes.
std::string WindowText(const DomainPlan& domain, const WindowCost& window);

}  // namespace pitwall::plan
