// Parameters that a rule name refers to: the rule's own and, for an alert, those of the recording
// rules that it reads, directly or indirectly, on its clock. Users who tune an alert need not know
// which of its parts are separate recording rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

std::vector<const Parameter*> ParametersMeant(const Program& program, std::string_view rule,
                                              std::string_view parameter);
// Like the above, for parameters that users may set while a job runs: numbers. InvalidArgument
// names the invalid rule or parameter and the nearest name.
StatusOr<std::vector<const Parameter*>> NumbersMeant(const Program& program, std::string_view rule,
                                                     std::string_view parameter);
// Names of up to three rules that have a parameter of this name.
std::vector<std::string> RulesWithParameter(const Program& program, std::string_view parameter);
// A number, or the text in quotes.
std::string ShownValue(const Parameter& parameter);

}  // namespace pitwall::plan
