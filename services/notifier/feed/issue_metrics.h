// Issues as samples of Prometheus.
#pragma once

#include <vector>

#include "services/notifier/feed/issue_index.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// pitwall_issues_open{rule,severity}.
void ListOpenCounts(const IssueIndex& index, std::vector<self_metrics::Sample>* out);
// pitwall_issue: the issue's labels, with pitwall_job, rule and severity; a label of the issue that
// has one of these names becomes exported_<name>, as in a scrape of Prometheus. At most `max`
// issues, those that began last.
void ListIssueSamples(const IssueIndex& index, size_t max, bool* truncated,
                      std::vector<self_metrics::Sample>* out);

}  // namespace pitwall::notifier
