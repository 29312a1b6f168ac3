// Receiver for Alertmanager's API v2. Each issue is an alert, identified by its labels, which do
// not change during the life of the issue.
//
// Only cleared issues are sent as resolved. An issue that ended in another way (with its job, its
// attempt, or its rule, or without data) stays firing until `hold_ended` after its end, since
// nothing shows that the problem is over. For the same reason, an open alert has an end time in the
// future: a notifier that is down for less time resolves nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/codec/cloudevents/json_writer.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct AlertmanagerTarget {
  std::string url;  // base URL of one Alertmanager, without /api/v2/alerts
  std::vector<std::pair<std::string, std::string>> headers;  // e.g. Authorization
  std::vector<std::pair<std::string, std::string>> labels;   // additional labels of every alert
  std::string external_url;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;
  int64_t timeout_ns = 10 * kNanosPerSecond;
};

// Returns when an alert of the issue's newest event ends, in Unix ns; `wall_ns`: now.
int64_t AlertEndNs(const IssueEvent& event, int64_t hold_ended_ns, int64_t wall_ns);
// Writes one element of the array for POST /api/v2/alerts. `acted`: text of the executor's last act
// on the issue, or "".
void WriteAlert(const IssueEvent& event, const AlertmanagerTarget& target, int64_t wall_ns,
                std::string_view acted, cloudevents::JsonWriter* out);

class AlertmanagerReceiver final : public Receiver {
 public:
  explicit AlertmanagerReceiver(AlertmanagerTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "alertmanager"; }
  std::string target() const override { return target_.url; }
  std::string identity() const override { return target_.url; }
  // Renders the states if there are any, and the event otherwise.
  StatusOr<Call> Render(const Delivery& delivery) const override;
  Verdict Classify(const Answer& answer) const override;

 private:
  const AlertmanagerTarget target_;
};

}  // namespace pitwall::notifier
