// What a rule says of a job, from the statuses that it told: after the job's end, what it said last
// while the job had data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/model/issue.h"
#include "services/pipeline/issue_source.h"

namespace pitwall {

struct RuleVerdict {
  RuleStatus status = RuleStatus::kUnknown;  // kUnknown: the rule was never judged
  std::string reason;
};

// `told`: status events of one rule, oldest first; of a rule that tells many, the newest are
// enough. The verdict is the newest status, until the rule is stopped. Then it is what the rule
// said last while the ranks sent data: from the last goodbye to the end of the job (`data_until_ns`
// on) every rule comes to miss its series, which is no verdict. kMaxPosition: not known until when.
RuleVerdict VerdictOf(std::span<const IssueEventPtr> told, int64_t data_until_ns);

}  // namespace pitwall
