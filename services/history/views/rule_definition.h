// Definition of a rule for display: its texts, criterion, parameters, and defaults.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/history/job_overview.h"

namespace pitwall::history {

struct RuleParameter {
  std::string name;
  std::string value;  // default value without overrides: a number or a quoted string
  std::string unit;
  std::string help;
  std::string now = {};  // current value for the job
  // Source of `now`: "rule", "overrides", or "set" (by a person, for this job).
  std::string source = {};
};

struct RuleDefinition {
  std::string rule;  // pack/group/alert, followed by #n for repeats
  std::string severity;
  std::string summary;  // for display, with placeholders <value> and <label>
  std::string description;
  std::string suggestion;
  std::string expression;
  std::string clock;               // clock of the rule: "time" or "step (train)"
  std::string hold;                // value of `for`: "1m" or "5 steps"
  std::vector<std::string> needs;  // metrics that the rule requires
  std::vector<RuleParameter> parameters;
};

using RuleDefinitions = std::map<std::string, RuleDefinition, std::less<>>;
// Source of a job's rule definitions. Thread-safe. The result is empty if this process does not
// know the loaded rules.
using RuleDefinitionSource = std::function<RuleDefinitions(const JobOverview& job)>;

}  // namespace pitwall::history
