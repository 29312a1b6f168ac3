// Prometheus' label matchers over issues: what routes and silences are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/issues/issue.h"
#include "services/model/matcher.h"

namespace pitwall::notifier {

// All must match. A label that an issue does not have is "", as in Prometheus.
struct IssueMatchers {
  std::vector<Matcher> matchers;

  bool Matches(const IssueEvent& event) const;
  std::vector<std::string> Texts() const;  // a="b"
};

// `severity="critical"`, `{job=~"llm-.*", rank!="0"}` or `severity=critical`. InvalidArgument says
// what is wrong and where.
StatusOr<std::vector<Matcher>> ParseMatchers(std::string_view text);
// All of several such texts. InvalidArgument: none at all.
StatusOr<IssueMatchers> ParseIssueMatchers(const std::vector<std::string>& texts);

// The labels of the issue, and `alertname`, `severity`, `job` (the name of the job, or its id),
// `pitwall_job` (its id), `owner`, `rule`, `pack`, `incident`, `issue`. Without such a label: "".
std::string MatchedLabel(const IssueEvent& event, std::string_view name);

}  // namespace pitwall::notifier
