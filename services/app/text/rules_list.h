// Text that lists a program's rules, for `rules list`.
#pragma once

#include <string>

#include "rules/plan/program/program.h"

namespace pitwall {

// Returns one line per rule, with the name, clock, `for`, parameters, and required metrics.
std::string RulesAsTable(const plan::Program& program);

// Returns an array with one object per rule, in evaluation order: rule (pack/group/name), kind
// (alert or record), name, file, line, clock (time or step), mode, interval, for, keep_firing_for,
// expr, clear, scope, parameters {name: {default, unit, help}}, explains [{alert, scope, equal}],
// needs [metric], labels and annotations {name: template}. Times are in seconds, or in steps on the
// step clock. Empty fields are omitted.
std::string RulesAsJson(const plan::Program& program);

}  // namespace pitwall
