// Display text of an expression.
#pragma once

#include <string>

#include "rules/plan/program/program.h"

namespace pitwall::plan {

// Returns the canonical text, but with windows on the step clock as numbers of steps: "[500:1]"
// instead of "[8m20s:1s]".
std::string ShownText(const DomainPlan& domain, const Node& node);

}  // namespace pitwall::plan
