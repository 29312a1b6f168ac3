// Prometheus samples of issues.
#pragma once

#include <vector>

#include "services/notifier/feed/issue_index.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// pitwall_issues_open{rule,severity}.
void ListOpenCounts(const IssueIndex& index, std::vector<self_metrics::Sample>* out);
// Lists samples of pitwall_issue: the issue's labels, with pitwall_job, rule, and severity. A label
// of the issue with one of these names becomes exported_<name>, as in a Prometheus scrape. Lists at
// most `max` issues, the most recently begun first.
void ListIssueSamples(const IssueIndex& index, size_t max, bool* truncated,
                      std::vector<self_metrics::Sample>* out);

}  // namespace pitwall::notifier
