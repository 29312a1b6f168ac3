// The rules of a program, as the history's API shows them.
#pragma once

#include "rules/plan/program.h"
#include "services/insights/views/rule_definition.h"

namespace pitwall {

// Alerts alone.
insights::RuleDefinitions RuleDefinitionsOf(const plan::Program& program);

}  // namespace pitwall
