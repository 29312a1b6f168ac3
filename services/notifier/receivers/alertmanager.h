// Prometheus' Alertmanager, by its API v2. Each issue is an alert, whose labels are its identity
// there: they do not change while the issue lives.
//
// Only what is cleared is sent as resolved. What ended in another way (with its job, its attempt or
// its rule, or without data) stays firing until `hold_ended` after its end: nobody has seen that
// the trouble is over. For the same reason an open alert is sent with an end so far ahead, so that
// a notifier that is away for less resolves nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/codec/cloudevents/json_writer.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct AlertmanagerTarget {
  std::string url;  // of one Alertmanager, with its path prefix; without /api/v2/alerts
  std::vector<std::pair<std::string, std::string>> headers;  // e.g. Authorization
  std::vector<std::pair<std::string, std::string>> labels;   // further ones of every alert
  std::string external_url;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;
  int64_t timeout_ns = 10 * kNanosPerSecond;
};

// When an alert of the issue's newest event ends, Unix ns; `wall_ns`: now.
int64_t AlertEndNs(const IssueEvent& event, int64_t hold_ended_ns, int64_t wall_ns);
// One element of the array that POST /api/v2/alerts takes; `acted`: what the executor last said of
// it, or "".
void WriteAlert(const IssueEvent& event, const AlertmanagerTarget& target, int64_t wall_ns,
                std::string_view acted, cloudevents::JsonWriter* out);

class AlertmanagerReceiver final : public Receiver {
 public:
  explicit AlertmanagerReceiver(AlertmanagerTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "alertmanager"; }
  std::string target() const override { return target_.url; }
  std::string identity() const override { return target_.url; }
  // The states where there are any, else the event.
  StatusOr<Call> Render(const Delivery& delivery) const override;
  Verdict Classify(const Answer& answer) const override;

 private:
  const AlertmanagerTarget target_;
};

}  // namespace pitwall::notifier
