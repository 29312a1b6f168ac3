// Definitions of the rules of a program for the API of the history.
#pragma once

#include <string_view>

#include "rules/plan/program/program.h"
#include "services/history/views/rule_definition.h"

namespace pitwall {

// Returns the alerts with the parameter values of a job, or the defaults for "". Overrides by
// labels of jobs have no effect here, because the history does not have the labels.
history::RuleDefinitions RuleDefinitionsOf(const plan::Program& program,
                                           std::string_view job_id = {},
                                           std::string_view job_name = {});

}  // namespace pitwall
