// A Program for people: what runs, in which order, what it keeps and costs per series and what
// rules share. For `rules check --explain`.
#pragma once

#include <string>

#include "rules/plan/cost/rule_cost.h"
#include "rules/plan/program/program.h"

namespace pitwall::plan {

std::string Explain(const Program& program, const CostOptions& options = {});

// One window of it: function, selector, length, family, panes.
std::string WindowText(const DomainPlan& domain, const WindowCost& window);

}  // namespace pitwall::plan
