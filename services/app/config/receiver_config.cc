#include "services/app/config/receiver_config.h"

#include <set>
#include <utility>

#include "services/adapters/http/client/standard_webhooks.h"
#include "services/base/text/strings.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall {
namespace {

using notifier::ReceiverOptions;

// Placeholder for all secrets in CheckReceivers. The placeholder is a URL because some secrets must
// be URLs.
constexpr std::string_view kAnySecret = "https://secret.invalid/";

StatusOr<std::shared_ptr<const notifier::Routes>> RoutesOf(const NotifierConfig& config,
                                                           const std::set<std::string>& names) {
  std::vector<notifier::Route> routes;
  for (size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& one = config.routes[i];
    const std::string place = Cat("notifier.routes[", i, "]");
    auto matchers = notifier::ParseIssueMatchers(one.matchers);
    if (!matchers.ok()) return Annotate(matchers.status(), place);
    for (const std::string& name : one.receivers) {
      if (!names.contains(name))
        return InvalidArgument(Cat(place, ": receiver not found (", Quote(name), ")"));
    }
    routes.push_back({*std::move(matchers), one.receivers, one.continues});
  }
  return std::make_shared<const notifier::Routes>(std::move(routes));
}

// Appends the receivers of one configured receiver, and its name and theirs to `names`.
Status Append(const notifier::ReceiverSettings& settings, const notifier::ReceiverContext& context,
              std::string_view list, std::set<std::string>* names,
              std::vector<ReceiverOptions>* out) {
  const auto place = [list](const std::string& name) { return Cat("notifier.", list, ": ", name); };
  const auto duplicate = [&](const std::string& name) {
    return InvalidArgument(Cat(place(name), ": name is not unique; rename one of the receivers"));
  };
  auto made = settings.Make(context);
  if (!made.ok()) return Annotate(made.status(), place(settings.name));
  if (names->contains(settings.name)) return duplicate(settings.name);
  for (ReceiverOptions& receiver : *made) {
    if (!names->insert(receiver.delivery.name).second) return duplicate(receiver.delivery.name);
    out->push_back(std::move(receiver));
    RETURN_IF_ERROR(Annotate(CheckReceiver(out->back()), "notifier"));
  }
  names->insert(settings.name);  // the members of a cluster may have other names
  return OkStatus();
}

StatusOr<std::vector<ReceiverOptions>> Make(const Config& config,
                                            const notifier::ReceiverContext& context) {
  std::vector<ReceiverOptions> out;
  std::set<std::string> names;
  for (const notifier::ReceiverKind& kind : notifier::ReceiverKinds()) {
    const auto list = config.notifier.receivers.find(kind.key);
    if (list == config.notifier.receivers.end()) continue;
    for (const auto& settings : list->second)
      RETURN_IF_ERROR(Append(*settings, context, kind.key, &names, &out));
  }
  ASSIGN_OR_RETURN(const auto routes, RoutesOf(config.notifier, names));
  for (ReceiverOptions& receiver : out) receiver.delivery.routes = routes;
  return out;
}

}  // namespace

StatusOr<std::vector<ReceiverOptions>> ReceiversOf(const Config& config,
                                                   const SecretReader& secret) {
  return Make(config, {.external_url = config.external_url,
                       .secret = secret,
                       .signer = [](const std::vector<std::string>& secrets)
                           -> StatusOr<std::shared_ptr<const WebhookSigner>> {
                         ASSIGN_OR_RETURN(std::unique_ptr<WebhookSigner> signer,
                                          http::MakeStandardWebhooksSigner(secrets));
                         return std::shared_ptr<const WebhookSigner>(std::move(signer));
                       }});
}

Status CheckReceivers(const Config& config) {
  return Make(config, {.external_url = config.external_url,
                       .secret = [](const std::string&) { return std::string(kAnySecret); },
                       .signer = [](const std::vector<std::string>&)
                           -> StatusOr<std::shared_ptr<const WebhookSigner>> { return nullptr; }})
      .status();
}

}  // namespace pitwall
