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
  std::string value;  // without overrides: a number, or a quoted string
  std::string unit;
  std::string help;
  std::string now = {};     // current value for the job
  std::string source = {};  // of it: "rule", "overrides", "set" (by a person, of this job)
};

struct RuleDefinition {
  std::string rule;  // pack/group/alert, plus #n
  std::string severity;
  std::string summary;  // for display: with placeholders <value> and <label>
  std::string description;
  std::string suggestion;
  std::string expression;
  std::string clock;               // time, step (train)
  std::string hold;                // for: "1m", "5 steps"
  std::vector<std::string> needs;  // required metrics
  std::vector<RuleParameter> parameters;
};

using RuleDefinitions = std::map<std::string, RuleDefinition, std::less<>>;
// Thread-safe. Empty: this process does not know the loaded rules.
using RuleDefinitionSource = std::function<RuleDefinitions(const JobOverview& job)>;

}  // namespace pitwall::history
