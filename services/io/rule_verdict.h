// A rule's verdict on a job: the rule's last status while the job had data.
#pragma once

#include <span>
#include <string>

#include "services/base/time.h"
#include "services/io/issue_source.h"
#include "services/model/issues/issue.h"

namespace pitwall {

struct RuleVerdict {
  RuleStatus status = RuleStatus::kUnknown;  // kUnknown if the rule was never evaluated
  std::string reason;
  EventTime since;  // event time of the status; 0 if never evaluated
};

// Returns the verdict. `events` contains the status events of one rule, oldest first; the newest
// ones suffice. `data_until` is the time at which the ranks of an ended job last sent data, or
// EventTime::Latest() if the job is running or the time is unknown. A NoData status after that
// time, or just before the rule was removed, is ignored if there is an earlier status.
RuleVerdict VerdictOf(std::span<const IssueEventPtr> events, EventTime data_until);

}  // namespace pitwall
