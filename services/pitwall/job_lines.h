// Jobs and the statuses of their rules, as `jobs list|show` and `rules status` print them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/codec/rule_set_codec.h"
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

// "  limit = 0.3  (set by act, 2026-…, request …)", a line for each that is set of the rule; "":
// none.
std::string SetParametersText(std::string_view rule, const std::vector<codec::SetParameter>& set);

// One JSON object each, in one line. `set`: of the job, by people.
std::string JobJson(const JobRecord& job);
std::string RuleStatusJson(const JobRecord& job, const std::string& rule,
                           const std::vector<codec::SetParameter>& set = {});

}  // namespace pitwall
