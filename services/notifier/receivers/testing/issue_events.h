// Events of one issue, for tests of receivers.
#pragma once

#include "services/base/clock.h"
#include "services/model/issues/issue.h"

namespace pitwall::notifier {

inline IssueEvent Found() {
  IssueEvent e;
  e.job = "u0:llm:1";
  e.job_name = "llm";
  e.rule = "training/numerics/NonFinite";
  e.alert = "NonFinite";
  e.labels =
      Labels{{"alertname", "NonFinite"}, {"severity", "critical"}, {"rank", "3"}, {"node", "n1"}};
  e.severity = "critical";
  e.time = EventTime::FromNs(1'000'010 * kNanosPerSecond);
  e.active_since = EventTime::FromNs(1'000'000 * kNanosPerSecond);
  e.sequence = 1;
  e.step = 120;
  e.summary = "the loss is <NaN> & stays so";
  e.suggestion = "lower the learning rate";
  e.incident = "abcdef0123456789";
  e.id = MakeEventId(e);
  return e;
}

inline IssueEvent Ended(EndReason reason) {
  IssueEvent e = Found();
  e.type = EventType::kIssueResolved;
  e.sequence = 2;
  e.ended_at = e.time + Duration::Seconds(60);
  e.end_reason = reason;
  if (reason == EndReason::kJobEnded) e.end_detail = EndDetail::kFailed;
  e.id = MakeEventId(e);
  return e;
}

}  // namespace pitwall::notifier
