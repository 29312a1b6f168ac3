#include "services/io/rule_verdict.h"

namespace pitwall {

RuleVerdict VerdictOf(std::span<const IssueEventPtr> events, EventTime data_until) {
  RuleVerdict verdict;
  for (const IssueEventPtr& event : events) {
    const bool stopped = event->status == RuleStatus::kStopped;
    const RuleStatus judged = stopped ? event->previous_status : event->status;
    // If the rule is Stopped, its previous status is used, because that status may not have its own
    // event. Any status other than NoData was set while the job had data.
    const bool without_data =
        judged == RuleStatus::kUnknown ||
        (judged == RuleStatus::kNoData && (stopped || event->time > data_until));
    if (without_data && verdict.status != RuleStatus::kUnknown) continue;
    if (stopped && judged == verdict.status) continue;  // including its reason
    verdict.status = judged;
    verdict.since = event->time;
    verdict.reason = stopped ? "" : event->status_reason;
  }
  return verdict;
}

}  // namespace pitwall
