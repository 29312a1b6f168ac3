// Receiver for HTTP APIs that send short messages, such as SMS gateways, pagers, and chat servers.
// The configuration defines the method, URL, headers, and body. The body is a template
// (rules/templates).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rules/templates/template.h"
#include "services/base/clock.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

// Escaping for values in the body, so that a value cannot break out of its field.
enum class GatewayEscape { kJson, kForm, kNone };

struct GatewayTarget {
  std::string method = "POST";
  std::string url;  // may contain secrets
  std::vector<std::pair<std::string, std::string>> headers;
  GatewayEscape escape = GatewayEscape::kJson;
  std::string body;  // template whose labels are kGatewayValues and the secrets
  // Secret values with names of the form "secret_<name>". They are escaped like all other values.
  std::vector<std::pair<std::string, std::string>> secrets;
  size_t max_length = 160;   // maximum length of `text` in characters; truncated at a word
  std::vector<int> success;  // accepted HTTP statuses; if empty, all 2xx
  std::string external_url;
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

class GatewayReceiver final : public Receiver {
 public:
  // Returns InvalidArgument if the body is not a valid template, uses an unknown value, or uses
  // JSON escaping but is not JSON.
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
