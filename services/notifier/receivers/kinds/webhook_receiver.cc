// Settings of webhooks.
#include "services/base/text/strings.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"
#include "services/notifier/receivers/webhook.h"

namespace pitwall::notifier {
namespace {

class WebhookSettings final : public ReceiverSettings {
 public:
  WebhookSettings() { notify.clear(); }  // the default depends on notify_symptoms

  void Keys(ConfigKeys& keys) override {
    keys.Text("name", &name,
              "Name under which the delivery position is stored: 1 to 64 of "
              "`a-z A-Z 0-9 _ -`. Required.");
    keys.Text("url", &url, "URL to which events are posted. Required.");
    keys.Texts("types", &types,
               "Event types: `issue.found`, `issue.updated`, `issue.resolved`, `rule.status`. "
               "Empty: the three types of issues.");
    keys.Texts("severities", &severities, "Severities. Empty: all.");
    keys.Texts("secrets", &secrets,
               "Locations of signing secrets: `file:PATH` or `env:NAME`. Empty: unsigned.");
    keys.Bool("from_start", &from_start,
              "Start a new webhook at the oldest event instead of the next one.");
    keys.Text("notify", &notify,
              "Messages to send: `incidents` (one notification when an incident is found, one "
              "when it has ended, and few in between) or `events` (every event of each issue). "
              "Empty: `incidents`, or `events` with `notify_symptoms`.");
    keys.Bool("notify_symptoms", &notify_symptoms,
              "With `events`: also send issues whose root cause is open.");
    ActionsKey(keys);
    if (!notify.empty() && notify != "incidents" && notify != "events")
      keys.CheckKey("notify", Cat("must be incidents or events (got ", Quote(notify), ")"));
    if (notify == "incidents" && notify_symptoms)
      keys.CheckKey("notify_symptoms",
                    "requires notify: events; a notification of an incident names all its issues");
    if (name.empty())
      keys.CheckKey("name", "a webhook requires a name, under which its position is stored");
    if (url.empty()) keys.CheckKey("url", "a webhook requires a url");
  }
  std::vector<std::pair<std::string_view, std::string>> Urls() const override {
    return {{"url", url}};
  }
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    DeliveryOptions hook = Delivery();
    const bool events = notify == "events" || notify_symptoms;
    hook.notify = events ? NotifyMode::kEvents : NotifyMode::kIncidents;
    for (const std::string& type : types) {
      const auto parsed =
          ParseEventType(StartsWith(type, "io.pitwall.") ? type : Cat("io.pitwall.", type));
      if (!parsed.has_value()) {
        return InvalidArgument(Cat(
            "types: unknown type (got ", Quote(type),
            "); specify issue.found, issue.updated, issue.resolved, rule.status, or job.changed"));
      }
      hook.types.push_back(*parsed);
    }
    WebhookTarget target;
    target.url = url;
    target.external_url = context.external_url;
    if (!secrets.empty()) {
      std::vector<std::string> texts;
      for (const std::string& where : secrets) {
        ASSIGN_OR_RETURN(std::string text, context.secret(where));
        texts.push_back(std::move(text));
      }
      ASSIGN_OR_RETURN(target.signer, context.signer(texts));
    }
    return std::vector{
        ReceiverOptions{.delivery = std::move(hook),
                        .receiver = std::make_shared<WebhookReceiver>(std::move(target))}};
  }

  std::string url;
  std::vector<std::string> types;
  std::vector<std::string> secrets;  // file:<path> or env:<NAME>
};

}  // namespace

ReceiverKind WebhookKind() {
  return {.key = "webhooks",
          .item = "a webhook",
          .help = "Receivers of issue events.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<WebhookSettings>();
          }};
}

std::shared_ptr<ReceiverSettings> NewWebhookSettings(const std::string& name,
                                                     const std::string& url) {
  auto settings = std::make_shared<WebhookSettings>();
  settings->name = name;
  settings->url = url;
  return settings;
}

}  // namespace pitwall::notifier
