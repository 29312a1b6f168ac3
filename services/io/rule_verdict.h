// Verdict of a rule on a job, from its status events: the last status while the job had data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/io/issue_source.h"
#include "services/model/issues/issue.h"

namespace pitwall {

struct RuleVerdict {
  RuleStatus status = RuleStatus::kUnknown;  // kUnknown: the rule was never evaluated
  std::string reason;
  int64_t since_ns = 0;  // event time of the status; 0: never evaluated
};

// `events`: status events of one rule, oldest first; the newest are enough. `data_until_ns`: when
// the ranks of an ended job last sent data; kMaxPosition: the job runs, or unknown. NoData after
// that time, or just before the rule was removed, is ignored if an earlier status exists.
RuleVerdict VerdictOf(std::span<const IssueEventPtr> events, int64_t data_until_ns);

}  // namespace pitwall
