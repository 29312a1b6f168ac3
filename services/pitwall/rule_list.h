// The rules of a program, as `rules list` shows them.
#pragma once

#include <string>

#include "rules/plan/program/program.h"

namespace pitwall {

// A line per rule: name, clock, what it waits for, parameters, needs.
std::string RulesAsTable(const plan::Program& program);

// An array with an object per rule, in the order of evaluation: rule (pack/group/name), kind (alert
// or record), name, file, line, clock (time or step), mode, interval, for, keep_firing_for, expr,
// clear, scope, parameters {name: {default, unit, help}}, explains [{alert, scope, equal}], needs
// [metric], labels and annotations {name: template}. Times are seconds, on the step clock steps.
// Empty fields are left out.
std::string RulesAsJson(const plan::Program& program);

}  // namespace pitwall
