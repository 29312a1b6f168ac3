// The rules of a program, as the history's API shows them.
#pragma once

#include <string_view>

#include "rules/plan/program/program.h"
#include "services/history/views/rule_definition.h"

namespace pitwall {

// Alerts alone, with the values that the job's parameters have; "": of no job. What the overrides
// file says by labels of jobs is not seen here: the history does not have them.
history::RuleDefinitions RuleDefinitionsOf(const plan::Program& program,
                                           std::string_view job_id = {},
                                           std::string_view job_name = {});

}  // namespace pitwall
