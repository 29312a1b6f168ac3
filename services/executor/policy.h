// Policies for actions on issues. A policy decision depends only on the options and the issue.
#pragma once

#include <span>
#include <string>

#include "services/executor/executor.h"
#include "services/model/issues/issue.h"

namespace pitwall::executor {

struct Verdict {
  PolicyMode mode = PolicyMode::kOff;
  int64_t grace_ns = 0;
  std::string why;  // such as "policy crash/*: live"
};
Verdict Judge(std::span<const Policy> policies, const IssueEvent& event);

// Returns the exemption that prevents the job from being stopped, or "".
std::string Exemption(std::span<const Exempt> exempt, const IssueEvent& event);

}  // namespace pitwall::executor
