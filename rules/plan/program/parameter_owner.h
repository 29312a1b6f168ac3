// Parameters that a name under a rule refers to: the rule's own and, of an alert, those of the
// recording rules that it reads, directly or through others, on its clock. Which of its parts
// became a series of its own is no matter of whoever tunes an alert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

std::vector<const Parameter*> ParametersMeant(const Program& program, std::string_view rule,
                                              std::string_view parameter);
// The same, of what a person may set while a job runs: numbers. InvalidArgument names what is wrong
// of the rule or the parameter, and the nearest name.
StatusOr<std::vector<const Parameter*>> NumbersMeant(const Program& program, std::string_view rule,
                                                     std::string_view parameter);
// Names of the rules that have a parameter of this name, at most three.
std::vector<std::string> RulesWithParameter(const Program& program, std::string_view parameter);
// A number, or the text in quotes.
std::string ShownValue(const Parameter& parameter);

}  // namespace pitwall::plan
