#include "services/executor/policy.h"

#include "services/base/strings.h"

namespace pitwall::executor {

bool GlobMatches(std::string_view glob, std::string_view text) {
  // Greedy with one point of return: linear in practice, never exponential.
  size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == text[t] && glob[g] != '*'))) {
      ++g;
      ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

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
