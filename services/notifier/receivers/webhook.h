// Receiver for CloudEvents over HTTP POST, signed according to Standard Webhooks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct WebhookTarget {
  std::string url;
  std::shared_ptr<const WebhookSigner> signer;  // if null, requests are not signed
  std::vector<std::pair<std::string, std::string>>
      headers;  // additional headers, such as Authorization
  // Address of the server that shows issues, or "". If the address is set, each body contains a
  // "link".
  std::string external_url;
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

class WebhookReceiver final : public Receiver {
 public:
  explicit WebhookReceiver(WebhookTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "webhook"; }
  std::string target() const override { return target_.url; }
  std::string identity() const override { return target_.url; }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  Verdict Classify(const Answer& answer) const override { return ClassifyHttp(answer); }

 private:
  const WebhookTarget target_;
};

}  // namespace pitwall::notifier
