// Text for jobs and their rule statuses, for `jobs list|show` and `rules status`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/app/text/issue_text.h"
#include "services/app/text/jobs_from_topic.h"
#include "services/codec/rule_set_codec.h"

namespace pitwall {

// Formats a job as one line.
std::string JobLine(const JobRecord& job);
// Returns the attempts and how they ended, the rule statuses, and the issues.
std::string JobPageText(const JobRecord& job, const IssueNames& names);
// Returns one line, such as "NoData  pack/group/Alert  no series of train_loss (sent by the
// training process …)". `rule` is a key of job.statuses. After the job has ended, the line contains
// the verdict instead of the status.
std::string RuleStatusLine(const JobRecord& job, const std::string& rule);
// Returns text that names the sources of the series in a status reason, or "" if the reason names
// no series.
std::string SupplyText(std::string_view reason);

// Returns one line per user-set rule parameter: "  limit = 0.3  (set by act, 2026-…, request …)".
std::string SetParametersText(std::string_view rule, const std::vector<codec::SetParameter>& set);

// Each returns a JSON object on one line. `set` contains the job's user-set parameters.
std::string JobJson(const JobRecord& job);
std::string RuleStatusJson(const JobRecord& job, const std::string& rule,
                           const std::vector<codec::SetParameter>& set = {});

}  // namespace pitwall
