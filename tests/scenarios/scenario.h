// Test suite of the scenarios and what their assertions share.
#pragma once

#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/scenarios/scenario_log.h"

namespace pitwall::scenarios {

class Scenario : public ScenarioTest {
 protected:
  using Drop = engine::Drop;
  uint64_t Dropped(Drop reason) const { return Counters().drops[static_cast<size_t>(reason)]; }
};

inline std::string LastStatus(const std::vector<IssueEvent>& events, const std::string& alert) {
  std::string last;
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kRuleStatus && e.alert == alert)
      last = std::string(RuleStatusName(e.status));
  }
  return last;
}

// Returns the lines of Issues without updates.
inline std::vector<std::string> BeginsAndEnds(const std::vector<IssueEvent>& events) {
  std::vector<std::string> lines = Issues(events);
  std::erase_if(lines, [](const std::string& line) { return StartsWith(line, "updated"); });
  return lines;
}

}  // namespace pitwall::scenarios
