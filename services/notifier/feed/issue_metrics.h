// Prometheus metrics about issues.
#pragma once

#include <vector>

#include "services/notifier/feed/issue_index.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// Lists the samples of pitwall_issues_open{rule,severity}.
void ListOpenCounts(const IssueIndex& index, std::vector<self_metrics::Sample>* out);
// Lists the samples of pitwall_issue. Each sample has the issue's labels plus pitwall_job, rule,
// and severity. If an issue label has one of these names, the label becomes exported_<name>, as in
// a Prometheus scrape. Lists at most `max` issues, newest issue first.
void ListIssueSamples(const IssueIndex& index, size_t max, bool* truncated,
                      std::vector<self_metrics::Sample>* out);

}  // namespace pitwall::notifier
