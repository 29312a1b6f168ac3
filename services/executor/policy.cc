#include "services/executor/policy.h"

#include "services/base/glob.h"
#include "services/base/strings.h"

namespace pitwall::executor {

Verdict Judge(std::span<const Policy> policies, const IssueEvent& event) {
  for (const Policy& policy : policies) {
    if (!GlobMatches(policy.rule, event.rule)) continue;
    const std::string_view mode = policy.mode == PolicyMode::kLive     ? "live"
                                  : policy.mode == PolicyMode::kDryRun ? "dry run"
                                                                       : "off";
    return {policy.mode, policy.grace_ns, Cat("policy ", policy.rule, ": ", mode)};
  }
  if (event.labels.Get("action") == "stop") {
    return {PolicyMode::kDryRun, 0, "label action=stop, no policy: dry run"};
  }
  return {};
}

}  // namespace pitwall::executor
