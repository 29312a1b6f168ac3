// Jobs and the statuses of their rules, as `jobs list|show` and `rules status` print them.
#pragma once

#include <string>
#include <string_view>

#include "services/pitwall/issue_lines.h"
#include "services/pitwall/job_book.h"

namespace pitwall {

// One line.
std::string JobLine(const JobRecord& job);
// Attempts with their ends, statuses of the rules, issues.
std::string JobPageText(const JobRecord& job, const IssueNames& names);
// "NoData  pack/group/Alert  no series of train_loss; the training process sends it …", one line.
// `rule` is one of job.statuses. After the end of the job the verdict is where the status was.
std::string RuleStatusLine(const JobRecord& job, const std::string& rule);
// Who supplies the series that a reason names; "" when it names none.
std::string SupplyText(std::string_view reason);

// One JSON object each, in one line.
std::string JobJson(const JobRecord& job);
std::string RuleStatusJson(const JobRecord& job, const std::string& rule);

}  // namespace pitwall
