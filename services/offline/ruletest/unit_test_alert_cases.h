// Short forms of the entries of `alert_rule_test`: `silent_at`, the labels and annotations of a
// single expected alert, and the alert in the test's name (docs/rule-tests.md, "Less repetition").
#pragma once

#include <string>
#include <vector>

#include "services/base/yaml/yaml.h"

namespace pitwall::offline {

// Returns the cases of an entry without short forms. Lists in `eval_time` and `alertname` remain.
// Other nodes than maps are returned as they are. Adds the errors to `problems`.
std::vector<yaml::Node> AlertCasesOf(const yaml::Node& entry, std::vector<yaml::Problem>* problems);

// Returns a copy of an entry with `alert` as the alertname, if it has no alertname and `alert` is
// not empty.
yaml::Node WithAlert(const yaml::Node& entry, const std::string& alert);

// Replaces the entry of `entries` that has the key of `entry`, or appends `entry`.
void SetKey(std::vector<yaml::Node::Entry>* entries, yaml::Node::Entry entry);

}  // namespace pitwall::offline
