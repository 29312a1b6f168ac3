// A Slack channel by an incoming webhook (or whoever takes the same JSON: Mattermost, Rocket.Chat).
//
// Blocks inside an attachment, whose color says the severity. What begins is shown whole; updates
// and ends are one line that names the incident, since an incoming webhook can neither change a
// message nor answer in its thread. Texts are cut to Slack's limits, and "&", "<", ">" escaped, so
// that no label can mention people or make links.
#pragma once

#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct SlackTarget {
  std::string url;  // secret: who has it may post
  std::string external_url;
  std::string channel;  // override, where the webhook allows it; "": its own
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

class SlackReceiver final : public Receiver {
 public:
  explicit SlackReceiver(SlackTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "slack"; }
  std::string target() const override;
  std::string identity() const override { return target_.url; }
  StatusOr<Call> Render(const Delivery& delivery) const override;
  // 404 no_service, 403 action_prohibited and such are the configuration's fault: they are retried.
  Verdict Classify(const Answer& answer) const override;

 private:
  const SlackTarget target_;
};

// The characters that Slack reads as mark-up, escaped; cut before that to `max` bytes.
std::string SlackText(std::string_view text, size_t max);

}  // namespace pitwall::notifier
