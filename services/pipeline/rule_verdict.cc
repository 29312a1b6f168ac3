#include "services/pipeline/rule_verdict.h"

namespace pitwall {

RuleVerdict VerdictOf(std::span<const IssueEventPtr> told, int64_t data_until_ns) {
  if (told.empty()) return {};
  const IssueEvent& newest = *told.back();
  if (newest.status != RuleStatus::kStopped) return {newest.status, newest.status_reason};
  RuleVerdict verdict;
  for (const IssueEventPtr& event : told) {
    const bool stopped = event->status == RuleStatus::kStopped;
    const RuleStatus said = stopped ? event->previous_status : event->status;
    // A status before Stopped that needs data is from the time of data; its own event may be
    // missing.
    const bool without_data =
        said == RuleStatus::kUnknown ||
        (said == RuleStatus::kNoData && (stopped || event->time_ns > data_until_ns));
    if (without_data && verdict.status != RuleStatus::kUnknown) continue;
    if (stopped && said == verdict.status) continue;  // with its reason
    verdict.status = said;
    verdict.reason = stopped ? "" : event->status_reason;
  }
  return verdict;
}

}  // namespace pitwall
