// Planner that converts checked rules to a Program. Private to this module; the entry point is
// compile.h.
#pragma once

#include "rules/check/rule_set.h"
#include "rules/plan/program/program.h"

namespace pitwall::plan {

// Plans a rule set, which must be free of errors. Sets only Program::domains.
Program PlanRuleSet(const check::CheckedRuleSet& rule_set);

}  // namespace pitwall::plan
