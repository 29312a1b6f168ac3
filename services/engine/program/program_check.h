// Check for the parts of a compiled rule set that this engine cannot run: reported at load, not
// only as an Error status of every job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::engine {

// Demands that the node and its inputs read, those of the subqueries among them too, ascending,
// each once. Nothing for kNoNode.
std::vector<plan::DemandRef> DemandsBelow(const plan::DomainPlan& domain, plan::NodeId node);

// OK, or a window of the rule that the store cannot serve.
Status CheckWindows(const plan::DomainPlan& domain, const plan::Rule& rule);
// OK, or why the rule cannot be evaluated: a template that does not parse, a window that the store
// cannot serve. Messages begin with "file:line: rule pack/group/alert: ".
Status CheckRule(const plan::DomainPlan& domain, const plan::Rule& rule);
// What CheckRule says of each rule, in the program's order.
std::vector<std::string> ProblemsOf(const plan::Program& program);
// InvalidArgument with all problems, a line each.
Status CheckProgram(const plan::Program& program);

}  // namespace pitwall::engine
