// Rule definitions in a program, for the history API.
#pragma once

#include <string_view>

#include "rules/plan/program/program.h"
#include "services/history/views/rule_definition.h"

namespace pitwall {

// Returns the alerts with a job's parameter values, or with the default values if both arguments
// are empty. Overrides that match job labels are ignored because the history does not store job
// labels.
history::RuleDefinitions RuleDefinitionsOf(const plan::Program& program,
                                           std::string_view job_id = {},
                                           std::string_view job_name = {});

}  // namespace pitwall
