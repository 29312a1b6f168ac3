#include "services/executor/policy.h"

#include "services/base/glob.h"
#include "services/base/strings.h"
#include "services/model/action.h"

namespace pitwall::executor {
namespace {

// Who asks, of a request; "" of an issue.
std::string AskedBy(const IssueEvent& event) {
  if (event.rule != kStopRequestRule) return "";
  return Cat("asked for by ", event.labels.Get("principal"), " (", event.summary, "); ");
}

}  // namespace

Verdict Judge(std::span<const Policy> policies, const IssueEvent& event) {
  for (const Policy& policy : policies) {
    if (!GlobMatches(policy.rule, event.rule)) continue;
    const std::string_view mode = policy.mode == PolicyMode::kLive     ? "live"
                                  : policy.mode == PolicyMode::kDryRun ? "dry run"
                                                                       : "off";
    return {policy.mode, policy.grace_ns, Cat(AskedBy(event), "policy ", policy.rule, ": ", mode)};
  }
  if (event.labels.Get("action") == "stop") {
    return {PolicyMode::kDryRun, 0, Cat(AskedBy(event), "label action=stop, no policy: dry run")};
  }
  return {};
}

}  // namespace pitwall::executor
