// Annotations of firing alerts, as of the last tick at which the expression had
// them. Events would not do: they come at most once a minute, and carry three annotations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/alert/alert_state.h"
#include "services/model/labels.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

struct FiringAlert {
  std::string alert;
  Labels labels;
  Annotations annotations;  // by name
};

class FiringAnnotations {
 public:
  // After each evaluation of an alerting rule without an error. An alert that is only kept firing
  // goes on saying what it said.
  void Update(const alert::AlertInput& input, const alert::AlertState& state);
  // All alerts of the rule have ended.
  void Ended(const alert::AlertRule& rule) { rules_.erase(rule.name()); }

  std::vector<FiringAlert> Firing(std::string_view alert) const;

 private:
  struct Said {
    Annotations annotations;
    bool firing = false;
  };
  struct Rule {
    std::string alert;
    std::map<Labels, Said> said;  // of the alerts that are pending or firing
  };
  std::map<std::string, Rule, std::less<>> rules_;  // by name
};

}  // namespace pitwall::offline
