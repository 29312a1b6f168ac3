#include "services/executor/policy.h"

#include <vector>

#include "services/base/text/glob.h"
#include "services/base/text/strings.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {
namespace {

// Returns a clause that names the requester of a stop request, or "" for an issue.
std::string RequesterOf(const IssueEvent& event) {
  if (event.rule != kStopRequestRule) return "";
  return Cat("requested by ", event.labels.Get("principal"), " (", event.summary, "); ");
}

}  // namespace

Verdict Judge(std::span<const Policy> policies, const IssueEvent& event) {
  for (const Policy& policy : policies) {
    if (!GlobMatches(policy.rule, event.rule)) continue;
    const std::string_view mode = policy.mode == PolicyMode::kLive     ? "live"
                                  : policy.mode == PolicyMode::kDryRun ? "dry run"
                                                                       : "off";
    return {policy.mode, policy.grace_ns,
            Cat(RequesterOf(event), "policy ", policy.rule, ": ", mode)};
  }
  if (event.labels.Get("action") == "stop") {
    return {PolicyMode::kDryRun, 0,
            Cat(RequesterOf(event), "label action=stop, no policy: dry run")};
  }
  return {};
}

std::string Exemption(std::span<const Exempt> exempt, const IssueEvent& event) {
  for (const Exempt& e : exempt) {
    std::vector<std::string> why;
    bool all = true;
    const auto check = [&](std::string_view key, const std::string& glob, bool matches) {
      if (glob.empty()) return;
      all = all && matches;
      why.push_back(Cat(key, " ", glob));
    };
    check("job", e.job, GlobMatches(e.job, event.job) || GlobMatches(e.job, event.job_name));
    check("namespace", e.namespace_name,
          GlobMatches(e.namespace_name, event.reference.namespace_name));
    check("owner", e.owner, GlobMatches(e.owner, event.owner));
    if (all && !why.empty()) return Cat("exempt by executor.exempt: ", Join(why, ", "));
  }
  return "";
}

}  // namespace pitwall::executor
