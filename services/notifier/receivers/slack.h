// Receiver for a Slack channel that uses an incoming webhook. Mattermost and Rocket.Chat accept the
// same JSON.
//
// Sends blocks in an attachment whose color shows the severity. A found notice contains all values.
// Each update or end is one line that names the incident, because an incoming webhook can neither
// change a message nor reply in a thread. Text is truncated to Slack's limits. "&", "<", and ">"
// are escaped, so that labels cannot mention people or add links.
#pragma once

#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct SlackTarget {
  std::string url;  // secret, because anyone with the URL can post
  std::string external_url;
  std::string channel;  // overrides the webhook's default channel if the webhook allows it
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

class SlackReceiver final : public Receiver {
 public:
  explicit SlackReceiver(SlackTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "slack"; }
  std::string target() const override;
  std::string identity() const override { return target_.url; }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  // Treats configuration errors, such as 404 no_service and 403 action_prohibited, as retriable.
  Verdict Classify(const Answer& answer) const override;

 private:
  const SlackTarget target_;
};

// Escapes Slack's special characters. Returns at most the first `max` bytes.
std::string SlackText(std::string_view text, size_t max);

}  // namespace pitwall::notifier
