// Prometheus label matchers for issues, used by routes and silences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/issues/issue.h"
#include "services/model/matcher.h"

namespace pitwall::notifier {

// Conjunction of matchers. A missing label equals "", as in Prometheus.
struct IssueMatchers {
  std::vector<Matcher> matchers;

  bool Matches(const IssueEvent& event) const;
  std::vector<std::string> Texts() const;  // matcher as text, such as a="b"
};

// Parses `severity="critical"`, `{job=~"llm-.*", rank!="0"}`, or `severity=critical`. An
// InvalidArgument error contains the reason and its position.
StatusOr<std::vector<Matcher>> ParseMatchers(std::string_view text);
// Parses all matchers. Returns InvalidArgument if there are no matchers.
StatusOr<IssueMatchers> ParseIssueMatchers(const std::vector<std::string>& texts);

// Returns a label of the issue or a derived value: `alertname`, `severity`, `job` (the job's name,
// or its ID if it has no name), `pitwall_job` (the job's ID), `owner`, `rule`, `pack`, `incident`,
// or `issue`. Returns "" if the label does not exist.
std::string MatchedLabel(const IssueEvent& event, std::string_view name);

}  // namespace pitwall::notifier
