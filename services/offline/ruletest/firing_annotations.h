// Annotations of firing alerts, from the last tick that had a value for the alert. Events are not a
// suitable source, because they are emitted at most once a minute and contain only three
// annotations.
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
  Annotations annotations;  // sorted by name
};

class FiringAnnotations {
 public:
  // Call this after each successful evaluation of an alerting rule. An alert in the keep_firing_for
  // period keeps its last annotations.
  void Update(const alert::AlertInput& input, const alert::AlertState& state);
  // Call this when all of the rule's alerts have ended.
  void Ended(const alert::AlertRule& rule) { rules_.erase(rule.name()); }

  std::vector<FiringAlert> Firing(std::string_view alert) const;

 private:
  struct Said {
    Annotations annotations;
    bool firing = false;
  };
  struct Rule {
    std::string alert;
    std::map<Labels, Said> said;  // pending and firing alerts, by labels
  };
  std::map<std::string, Rule, std::less<>> rules_;  // by rule name
};

}  // namespace pitwall::offline
