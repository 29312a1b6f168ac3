// People, by e-mail over SMTP: text and HTML in one message, one thread for each incident.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/notifier/receivers/mime.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct EmailTarget {
  MailServer server;
  MailAddress from;
  std::vector<MailAddress> to;  // at least one
  std::string external_url;
  int64_t timeout_ns = 30 * kNanosPerSecond;
};

// The Message-ID of what is found follows from the incident, and everything else of the incident
// refers to it: also what was sent before a restart, and what is sent twice has one id.
class EmailReceiver final : public Receiver {
 public:
  explicit EmailReceiver(EmailTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "email"; }
  std::string target() const override;
  std::string identity() const override { return target(); }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  // 2xx taken; 552 and 554 are the message's fault; all else is tried again.
  Verdict Classify(const Answer& answer) const override;

 private:
  const EmailTarget target_;
};

}  // namespace pitwall::notifier
