// Any HTTP API that sends short messages: SMS gateways, pagers, chat servers. Method, URL, headers
// and body are the configuration's; the body is a template (rules/templates).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rules/templates/template.h"
#include "services/base/clock.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

// How the values of a body are written, so that none of them can leave its place.
enum class GatewayEscape { kJson, kForm, kNone };

struct GatewayTarget {
  std::string method = "POST";
  std::string url;  // may hold secrets
  std::vector<std::pair<std::string, std::string>> headers;
  GatewayEscape escape = GatewayEscape::kJson;
  std::string body;  // template; its labels: kGatewayValues, and the secrets
  // Values named "secret_<name>"; escaped like all others.
  std::vector<std::pair<std::string, std::string>> secrets;
  size_t max_length = 160;   // characters of `text`, which is cut at a word
  std::vector<int> success;  // statuses; empty: every 2xx
  std::string external_url;
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

class GatewayReceiver final : public Receiver {
 public:
  // InvalidArgument: the body is no template, names a value that does not exist, or is no JSON
  // where it is escaped as JSON.
  static StatusOr<std::shared_ptr<const GatewayReceiver>> Make(GatewayTarget target);

  std::string_view kind() const override { return "gateway"; }
  std::string target() const override;
  std::string identity() const override { return target_.url; }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  Verdict Classify(const Answer& answer) const override;

 private:
  GatewayReceiver(GatewayTarget target, templates::Template body)
      : target_(std::move(target)), body_(std::move(body)) {}

  const GatewayTarget target_;
  const templates::Template body_;
};

}  // namespace pitwall::notifier
