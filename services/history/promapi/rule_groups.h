// Loaded rules, as provided by the API's host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/model/labels.h"
#include "services/model/rule_set.h"

namespace pitwall::promapi {

struct RuleInfo {
  std::string id;     // pack/group/alert with an optional #n, as in issues
  std::string name;   // name of the alert or of the recorded metric
  std::string query;  // the rule's expression
  bool alerting = true;
  double hold_seconds = 0;         // the rule's `for`
  double keep_firing_seconds = 0;  // the rule's `keep_firing_for`
  Labels labels;
  Labels annotations;  // unexpanded templates
};

struct RuleGroupInfo {
  std::string name;  // pack/group
  std::string file;
  double interval_seconds = 60;
  int64_t limit = 0;
  std::vector<RuleInfo> rules;
};

// Returns the groups in file order. Thread-safe.
using RuleGroupSource = std::function<std::vector<RuleGroupInfo>()>;

// Parses a rule set in file order. Rules that cannot be parsed are omitted.
std::vector<RuleGroupInfo> RuleGroupsOf(const RuleSet& rules);

}  // namespace pitwall::promapi
