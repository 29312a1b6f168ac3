// Prometheus label matchers for issues, used by routes and silences.
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

// Parses `severity="critical"`, `{job=~"llm-.*", rank!="0"}`, or `severity=critical`.
// InvalidArgument contains the error and its position.
StatusOr<std::vector<Matcher>> ParseMatchers(std::string_view text);
// Parses all texts. InvalidArgument if there is no matcher.
StatusOr<IssueMatchers> ParseIssueMatchers(const std::vector<std::string>& texts);

// Returns a label of the issue, or one of `alertname`, `severity`, `job` (the name of the job, or
// its ID), `pitwall_job` (its ID), `owner`, `rule`, `pack`, `incident`, `issue`; "" if there is
// none.
std::string MatchedLabel(const IssueEvent& event, std::string_view name);

}  // namespace pitwall::notifier
