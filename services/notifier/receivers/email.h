// E-mail receiver over SMTP. Each message contains text and HTML, and each incident forms one
// thread.
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
  std::vector<MailAddress> to;  // must not be empty
  std::string external_url;
  int64_t timeout_ns = 30 * kNanosPerSecond;
};

// The Message-ID of a found notice is derived from the incident. All other messages about the
// incident refer to this Message-ID, even after a restart. A resent message keeps its ID.
class EmailReceiver final : public Receiver {
 public:
  explicit EmailReceiver(EmailTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "email"; }
  std::string target() const override;
  std::string identity() const override { return target(); }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  // Treats 2xx as accepted, 552 and 554 as rejected, and all other codes as retriable.
  Verdict Classify(const Answer& answer) const override;

 private:
  const EmailTarget target_;
};

}  // namespace pitwall::notifier
