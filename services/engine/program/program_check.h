// Check for parts of a compiled rule set that this engine cannot run. Reports them at load time,
// before they cause the status Error in every job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::engine {

// Returns the demands that the node and its inputs read, including demands in subqueries. Sorted,
// without duplicates. Empty for kNoNode.
std::vector<plan::DemandRef> DemandsBelow(const plan::DomainPlan& domain, plan::NodeId node);

// Returns an error if the store cannot serve a window of the rule.
Status CheckWindows(const plan::DomainPlan& domain, const plan::Rule& rule);
// Returns an error if the rule cannot be evaluated, because a template does not parse or the store
// cannot serve a window. Messages begin with "file:line: rule pack/group/alert: ".
Status CheckRule(const plan::DomainPlan& domain, const plan::Rule& rule);
// Returns the errors of CheckRule for all rules, in program order.
std::vector<std::string> ProblemsOf(const plan::Program& program);
// Returns InvalidArgument with all errors, one per line.
Status CheckProgram(const plan::Program& program);

}  // namespace pitwall::engine
