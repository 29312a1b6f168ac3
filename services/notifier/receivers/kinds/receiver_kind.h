// Kinds of receivers that the configuration may have. receiver_kinds.inc lists them. A kind
// declares its keys beside its receiver; the parser, --print-config, and docs/configuration.md use
// them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/config/config_keys.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"
#include "services/notifier/receivers/delivery_options.h"

namespace pitwall::notifier {

// Objects of the process that receivers are made with.
struct ReceiverContext {
  std::string external_url;  // address of the server that shows issues, or ""
  // Reads the secret at a location ("file:PATH", "env:NAME").
  std::function<StatusOr<std::string>(const std::string& place)> secret;
  // Returns the signer of webhooks. The result may be null if the configuration is only checked.
  std::function<StatusOr<std::shared_ptr<const WebhookSigner>>(
      const std::vector<std::string>& secrets)>
      signer;

  // Returns the text, or the secret if the text is a location.
  StatusOr<std::string> TextOrSecret(const std::string& text) const;
  // Behaves like TextOrSecret for each value. Errors contain the key.
  StatusOr<std::vector<std::pair<std::string, std::string>>> TextsOrSecrets(
      const std::map<std::string, std::string>& texts) const;
};

// Settings of one configured receiver, with the fields that all kinds have.
class ReceiverSettings {
 public:
  virtual ~ReceiverSettings() = default;
  // Visits the keys of the kind.
  virtual void Keys(ConfigKeys& keys) = 0;
  // Returns the URLs that --print-config shows, each with its key. They must not contain a
  // password.
  virtual std::vector<std::pair<std::string_view, std::string>> Urls() const { return {}; }
  // Returns the receivers, usually one. Returns InvalidArgument if the settings are invalid.
  virtual StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const = 0;

  std::string name;
  std::vector<std::string> severities;
  bool from_start = false;
  std::string notify = "incidents";  // incidents or events
  bool notify_symptoms = false;
  std::string actions = "live";  // none, live, all

 protected:
  // Common keys that a kind may omit.
  struct KeysOfKind {
    bool notify = true;
    bool notify_symptoms = true;
    bool actions = true;
  };
  // Visits the keys that all kinds have.
  void CommonKeys(ConfigKeys& keys, const KeysOfKind& has);
  void ActionsKey(ConfigKeys& keys);
  // Returns the options of the common fields.
  DeliveryOptions Delivery() const;
};

struct ReceiverKind {
  std::string_view key;   // of the list in the section `notifier`
  std::string_view item;  // one receiver in messages, such as "a Slack channel"
  std::string_view help;
  std::shared_ptr<ReceiverSettings> (*settings)();  // returns settings with the defaults
};

// One function per kind.
#define PITWALL_RECEIVER(name, function) ReceiverKind function();
#include "services/notifier/receivers/kinds/receiver_kinds.inc"

// Returns all kinds in the order of the list.
const std::vector<ReceiverKind>& ReceiverKinds();

// Configured receivers by the key of their kind.
using ReceiverLists =
    std::map<std::string, std::vector<std::shared_ptr<ReceiverSettings>>, std::less<>>;

// Returns the settings of a webhook with defaults.
std::shared_ptr<ReceiverSettings> NewWebhookSettings(const std::string& name,
                                                     const std::string& url);

}  // namespace pitwall::notifier
