// Receiver for the Alertmanager v2 API. Each issue is one alert, identified by its labels. The
// labels do not change during the lifetime of the issue.
//
// Only cleared issues are sent as resolved. An issue that ended for another reason (its job,
// attempt, or rule ended, or it has no data) continues to fire for `hold_ended` after its end,
// because there is no evidence that the problem is over. For the same reason, an open alert has an
// end time in the future, so a short notifier outage does not resolve the alert.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/codec/json/json_writer.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct AlertmanagerTarget {
  std::string url;  // base URL of one Alertmanager, without the path /api/v2/alerts
  std::vector<std::pair<std::string, std::string>> headers;  // such as Authorization
  std::vector<std::pair<std::string, std::string>> labels;   // labels to add to every alert
  std::string external_url;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;
  int64_t timeout_ns = 10 * kNanosPerSecond;
};

// Returns the end time of the alert for the issue's newest event, in Unix nanoseconds. `wall_ns` is
// the current time.
int64_t AlertEndNs(const IssueEvent& event, int64_t hold_ended_ns, int64_t wall_ns);
// Writes one array element for POST /api/v2/alerts. `acted` is the text of the executor's last
// action on the issue, or "".
void WriteAlert(const IssueEvent& event, const AlertmanagerTarget& target, int64_t wall_ns,
                std::string_view acted, codec::JsonWriter* out);

class AlertmanagerReceiver final : public Receiver {
 public:
  explicit AlertmanagerReceiver(AlertmanagerTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "alertmanager"; }
  std::string target() const override { return target_.url; }
  std::string identity() const override { return target_.url; }
  // Renders the states if there are any, and otherwise the event.
  StatusOr<Call> Render(const Delivery& delivery) const override;
  Verdict Classify(const Answer& answer) const override;

 private:
  const AlertmanagerTarget target_;
};

}  // namespace pitwall::notifier
