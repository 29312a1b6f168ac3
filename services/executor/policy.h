// Policy of actions on an issue, by the options alone.
#pragma once

#include <span>
#include <string>

#include "services/executor/executor.h"
#include "services/model/issues/issue.h"

namespace pitwall::executor {

struct Verdict {
  PolicyMode mode = PolicyMode::kOff;
  int64_t grace_ns = 0;
  std::string why;  // "policy crash/*: live"
};
Verdict Judge(std::span<const Policy> policies, const IssueEvent& event);

// Empty, or which exemption keeps the job from being stopped.
std::string Exemption(std::span<const Exempt> exempt, const IssueEvent& event);

}  // namespace pitwall::executor
