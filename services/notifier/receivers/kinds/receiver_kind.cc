#include "services/notifier/receivers/kinds/receiver_kind.h"

#include "services/base/text/strings.h"

namespace pitwall::notifier {
namespace {

ActionFilter ActionsOf(std::string_view text) {
  return text == "none"  ? ActionFilter::kNone
         : text == "all" ? ActionFilter::kAll
                         : ActionFilter::kLive;
}

}  // namespace

StatusOr<std::string> ReceiverContext::TextOrSecret(const std::string& text) const {
  if (!StartsWith(text, "file:") && !StartsWith(text, "env:")) return text;
  return secret(text);
}

StatusOr<std::vector<std::pair<std::string, std::string>>> ReceiverContext::TextsOrSecrets(
    const std::map<std::string, std::string>& texts) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, text] : texts) {
    auto value = TextOrSecret(text);
    if (!value.ok()) return Annotate(value.status(), key);
    out.emplace_back(key, *std::move(value));
  }
  return out;
}

void ReceiverSettings::ActionsKey(ConfigKeys& keys) {
  keys.Choice("actions", {"live", "all", "none"}, &actions,
              "Actions of the executor that are sent: decisions, results, refusals, and requests "
              "of users; `all` includes dry runs.");
}

void ReceiverSettings::CommonKeys(ConfigKeys& keys, const KeysOfKind& has) {
  keys.Text("name", &name,
            "Name under which the delivery position is stored, unique among all receivers: 1 to 64 "
            "of `a-z A-Z 0-9 _ -`. Required.");
  keys.Texts("severities", &severities, "Severities. Empty: all.");
  keys.Bool("from_start", &from_start,
            "Start a new receiver at the oldest event instead of the next one.");
  if (has.notify) {
    keys.Choice("notify", {"incidents", "events"}, &notify,
                "Messages to send: notifications of incidents, or every event of each issue.");
  }
  if (has.notify_symptoms) {
    keys.Bool("notify_symptoms", &notify_symptoms,
              has.notify ? "With `events`: also send issues whose root cause is open."
                         : "Also send issues whose root cause is open.");
  }
  if (has.actions) ActionsKey(keys);
  if (name.empty())
    keys.CheckKey("name", "a receiver requires a name, under which its position is stored");
}

DeliveryOptions ReceiverSettings::Delivery() const {
  DeliveryOptions out;
  out.name = name;
  out.severities = severities;
  out.from_start = from_start;
  out.notify_symptoms = notify_symptoms;
  out.actions = ActionsOf(actions);
  out.notify = notify == "events" ? NotifyMode::kEvents : NotifyMode::kIncidents;
  return out;
}

const std::vector<ReceiverKind>& ReceiverKinds() {
  static const std::vector<ReceiverKind> kinds = {
#define PITWALL_RECEIVER(name, function) function(),
#include "services/notifier/receivers/kinds/receiver_kinds.inc"
  };
  return kinds;
}

}  // namespace pitwall::notifier
