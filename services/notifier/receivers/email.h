// Receiver for e-mail over SMTP: text and HTML in one message, and one thread per incident.
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

// The Message-ID of a found notice is derived from the incident, and the other messages of the
// incident refer to it, also after a restart. A message that is sent twice has the same ID.
class EmailReceiver final : public Receiver {
 public:
  explicit EmailReceiver(EmailTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "email"; }
  std::string target() const override;
  std::string identity() const override { return target(); }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  // 2xx: accepted; 552 and 554: rejected; all others: retry.
  Verdict Classify(const Answer& answer) const override;

 private:
  const EmailTarget target_;
};

}  // namespace pitwall::notifier
