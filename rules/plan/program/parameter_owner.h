// Lookup of the parameters that a rule name refers to: the rule's own, and for an alert also those
// of the recording rules that it reads, directly or indirectly, on its clock. Users who tune an
// alert need not know that parts of it are separate recording rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

// Returns the parameters named `parameter` that `rule` refers to. Empty if there is no such rule or
// parameter.
std::vector<const Parameter*> MatchingParameters(const Program& program, std::string_view rule,
                                                 std::string_view parameter);
// Returns the same parameters if all of them are numbers, which users may set while a job runs.
// Otherwise returns InvalidArgument, which names the invalid rule or parameter and suggests the
// nearest name.
StatusOr<std::vector<const Parameter*>> MatchingNumbers(const Program& program,
                                                        std::string_view rule,
                                                        std::string_view parameter);
// Returns the names of up to three rules that have a parameter with this name.
std::vector<std::string> RulesWithParameter(const Program& program, std::string_view parameter);
// Returns the value for display: a number, or text in quotes.
std::string ShownValue(const Parameter& parameter);

}  // namespace pitwall::plan
