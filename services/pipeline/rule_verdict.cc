#include "services/pipeline/rule_verdict.h"

namespace pitwall {

RuleVerdict VerdictOf(std::span<const IssueEventPtr> told, int64_t data_until_ns) {
  if (told.empty()) return {};
  const IssueEvent& newest = *told.back();
  if (newest.status != RuleStatus::kStopped) return {newest.status, newest.status_reason};
  RuleVerdict verdict;
  for (const IssueEventPtr& event : told) {
    const bool stopped = event->status == RuleStatus::kStopped;
    const bool without_data =
        event->status == RuleStatus::kNoData && event->time_ns > data_until_ns;
    if ((stopped || without_data) && verdict.status != RuleStatus::kUnknown) continue;
    verdict.status = stopped ? event->previous_status : event->status;
    verdict.reason = stopped ? "" : event->status_reason;
  }
  return verdict;
}

}  // namespace pitwall
