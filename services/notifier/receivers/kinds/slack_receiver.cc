// Settings of Slack channels.
#include "services/notifier/receivers/kinds/receiver_kind.h"
#include "services/notifier/receivers/slack.h"

namespace pitwall::notifier {
namespace {

class SlackSettings final : public ReceiverSettings {
 public:
  void Keys(ConfigKeys& keys) override {
    CommonKeys(keys, {});
    keys.Text("url", &url,
              "Location of the URL of the incoming webhook, which is a secret: `file:PATH` or "
              "`env:NAME`. Required.");
    keys.Text("channel", &channel,
              "Another channel, if the webhook permits it. Empty: the channel of the webhook.");
    if (url.empty()) keys.CheckKey("url", "Slack requires the location of the URL of its webhook");
    keys.CheckValue("url", SecretPlaceProblem(url));
  }
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    SlackTarget target;
    ASSIGN_OR_RETURN(target.url, context.secret(url));
    target.external_url = context.external_url;
    target.channel = channel;
    return std::vector{ReceiverOptions{
        .delivery = Delivery(), .receiver = std::make_shared<SlackReceiver>(std::move(target))}};
  }

  std::string url;  // file:<path> or env:<NAME>
  std::string channel;
};

}  // namespace

ReceiverKind SlackKind() {
  return {.key = "slack",
          .item = "a Slack channel",
          .help = "Slack channels, by incoming webhooks.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<SlackSettings>();
          }};
}

}  // namespace pitwall::notifier
