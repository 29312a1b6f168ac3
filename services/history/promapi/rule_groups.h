// The loaded rules, as known to the host of the API.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/model/labels.h"
#include "services/model/rule_set.h"

namespace pitwall::promapi {

struct RuleInfo {
  std::string id;     // pack/group/alert, plus #n: the name that issues use
  std::string name;   // the alert, or the recorded metric
  std::string query;  // expression
  bool alerting = true;
  double hold_seconds = 0;         // for
  double keep_firing_seconds = 0;  // keep_firing_for
  Labels labels;
  Labels annotations;  // templates as written
};

struct RuleGroupInfo {
  std::string name;  // pack/group
  std::string file;
  double interval_seconds = 60;
  int64_t limit = 0;
  std::vector<RuleInfo> rules;
};

// Thread-safe. Returns groups in the order of the files.
using RuleGroupSource = std::function<std::vector<RuleGroupInfo>()>;

// Parses a rule set, in the order of its files. Rules that do not parse are left out.
std::vector<RuleGroupInfo> RuleGroupsOf(const RuleSet& rules);

}  // namespace pitwall::promapi
