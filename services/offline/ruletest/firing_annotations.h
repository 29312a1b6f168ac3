// Annotations of firing alerts at the last tick at which the expression had a value for them.
// Events do not suffice: they are emitted at most once a minute and have three annotations.
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
  // Call it after each successful evaluation of an alerting rule. An alert that is kept firing
  // keeps its last annotations.
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
    std::map<Labels, Said> said;  // of the pending and firing alerts
  };
  std::map<std::string, Rule, std::less<>> rules_;  // by name
};

}  // namespace pitwall::offline
