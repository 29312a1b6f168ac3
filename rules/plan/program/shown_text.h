// Display text of an expression.
#pragma once

#include <string>

#include "rules/plan/program/program.h"

namespace pitwall::plan {

// Returns the canonical text, with windows on the step clock as step counts: "[500:1]" instead of
// "[8m20s:1s]".
std::string ShownText(const DomainPlan& domain, const Node& node);

}  // namespace pitwall::plan
