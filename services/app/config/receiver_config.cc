#include "services/app/config/receiver_config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/adapters/http/client/standard_webhooks.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/notifier/receivers/alertmanager.h"
#include "services/notifier/receivers/email.h"
#include "services/notifier/receivers/gateway.h"
#include "services/notifier/receivers/slack.h"
#include "services/notifier/receivers/webhook.h"

namespace pitwall {
namespace {

using notifier::DeliveryOptions;
using notifier::ReceiverOptions;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Placeholder for all secrets in CheckReceivers. The placeholder is a URL because some secrets must
// be URLs.
constexpr std::string_view kAnySecret = "https://secret.invalid/";

bool IsPlace(std::string_view text) {
  return StartsWith(text, "file:") || StartsWith(text, "env:");
}

StatusOr<std::string> TextOrSecret(const std::string& text, const SecretReader& secret) {
  if (!IsPlace(text)) return text;
  return secret(text);
}

StatusOr<Pairs> TextsOrSecrets(const std::map<std::string, std::string>& texts,
                               const SecretReader& secret) {
  Pairs out;
  for (const auto& [name, text] : texts) {
    auto value = TextOrSecret(text, secret);
    if (!value.ok()) return Annotate(value.status(), name);
    out.emplace_back(name, *std::move(value));
  }
  return out;
}

notifier::ActionFilter ActionsOf(std::string_view text) {
  return text == "none"  ? notifier::ActionFilter::kNone
         : text == "all" ? notifier::ActionFilter::kAll
                         : notifier::ActionFilter::kLive;
}

DeliveryOptions DeliveryOf(const ReceiverConfig& config) {
  DeliveryOptions out;
  out.name = config.name;
  out.severities = config.severities;
  out.from_start = config.from_start;
  out.notify_symptoms = config.notify_symptoms;
  out.actions = ActionsOf(config.actions);
  out.notify =
      config.notify == "events" ? notifier::NotifyMode::kEvents : notifier::NotifyMode::kIncidents;
  return out;
}

StatusOr<ReceiverOptions> WebhookOf(const WebhookConfig& webhook, const Config& config,
                                    const SecretReader& secret, bool check) {
  DeliveryOptions hook;
  notifier::WebhookTarget target;
  hook.name = webhook.name;
  target.url = webhook.url;
  target.external_url = config.external_url;
  hook.severities = webhook.severities;
  hook.from_start = webhook.from_start;
  hook.notify_symptoms = webhook.notify_symptoms;
  hook.actions = ActionsOf(webhook.actions);
  const bool events = webhook.notify == "events" || webhook.notify_symptoms;
  hook.notify = events ? notifier::NotifyMode::kEvents : notifier::NotifyMode::kIncidents;
  for (const std::string& type : webhook.types) {
    const auto parsed =
        ParseEventType(StartsWith(type, "io.pitwall.") ? type : Cat("io.pitwall.", type));
    if (!parsed.has_value()) {
      return InvalidArgument(Cat(
          "types: unknown type (got ", Quote(type),
          "); specify issue.found, issue.updated, issue.resolved, rule.status, or job.changed"));
    }
    hook.types.push_back(*parsed);
  }
  if (!webhook.secrets.empty() && !check) {
    std::vector<std::string> secrets;
    for (const std::string& where : webhook.secrets) {
      ASSIGN_OR_RETURN(std::string text, secret(where));
      secrets.push_back(std::move(text));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<WebhookSigner> signer,
                     http::MakeStandardWebhooksSigner(secrets));
    target.signer = std::move(signer);
  }
  return ReceiverOptions{
      .delivery = std::move(hook),
      .receiver = std::make_shared<notifier::WebhookReceiver>(std::move(target))};
}

// Returns one receiver per cluster member, so that an unavailable member does not delay deliveries
// to other members.
StatusOr<std::vector<ReceiverOptions>> AlertmanagersOf(const AlertmanagerConfig& one,
                                                       const Config& config,
                                                       const SecretReader& secret) {
  std::vector<ReceiverOptions> out;
  for (const std::string& url : one.urls) {
    notifier::AlertmanagerTarget target;
    target.url = url;
    ASSIGN_OR_RETURN(target.headers, TextsOrSecrets(one.headers, secret));
    target.labels.assign(one.labels.begin(), one.labels.end());
    target.external_url = config.external_url;
    target.hold_ended_ns = one.hold_ended_ns;
    DeliveryOptions delivery = DeliveryOf(one);
    delivery.notify = notifier::NotifyMode::kStates;
    delivery.resend_ns = one.resend_interval_ns;
    delivery.hold_ended_ns = one.hold_ended_ns;
    delivery.routed_as = one.name;
    // The notifier stores the delivery position under the receiver's name, so the name depends only
    // on the member's URL.
    if (one.urls.size() > 1) delivery.name = Cat(one.name, "-", StableHashHex(url).substr(0, 8));
    out.push_back(
        {.delivery = std::move(delivery),
         .receiver = std::make_shared<notifier::AlertmanagerReceiver>(std::move(target))});
  }
  return out;
}

StatusOr<ReceiverOptions> SlackOf(const SlackConfig& one, const Config& config,
                                  const SecretReader& secret) {
  notifier::SlackTarget target;
  ASSIGN_OR_RETURN(target.url, secret(one.url));
  target.external_url = config.external_url;
  target.channel = one.channel;
  return ReceiverOptions{.delivery = DeliveryOf(one),
                         .receiver = std::make_shared<notifier::SlackReceiver>(std::move(target))};
}

StatusOr<ReceiverOptions> EmailOf(const EmailConfig& one, const Config& config,
                                  const SecretReader& secret) {
  notifier::EmailTarget target;
  target.server.host = one.host;
  target.server.port = static_cast<int>(one.port);
  target.server.security = one.security == "tls"    ? MailSecurity::kTls
                           : one.security == "none" ? MailSecurity::kNone
                                                    : MailSecurity::kStartTls;
  target.server.user = one.user;
  if (!one.password.empty()) {
    ASSIGN_OR_RETURN(target.server.password, secret(one.password));
  }
  target.server.auth = one.auth == "plain" ? "PLAIN" : one.auth == "login" ? "LOGIN" : "";
  target.server.ca_file = one.ca_file;
  auto from = notifier::ParseMailAddress(one.from);
  if (!from.ok()) return Annotate(from.status(), "from");
  target.from = *std::move(from);
  for (const std::string& text : one.to) {
    auto to = notifier::ParseMailAddress(text);
    if (!to.ok()) return Annotate(to.status(), "to");
    target.to.push_back(*std::move(to));
  }
  target.external_url = config.external_url;
  return ReceiverOptions{.delivery = DeliveryOf(one),
                         .receiver = std::make_shared<notifier::EmailReceiver>(std::move(target))};
}

StatusOr<ReceiverOptions> GatewayOf(const GatewayConfig& one, const Config& config,
                                    const SecretReader& secret) {
  notifier::GatewayTarget target;
  target.method = one.method;
  ASSIGN_OR_RETURN(target.url, TextOrSecret(one.url, secret));
  ASSIGN_OR_RETURN(target.headers, TextsOrSecrets(one.headers, secret));
  ASSIGN_OR_RETURN(target.secrets, TextsOrSecrets(one.secrets, secret));
  target.escape = one.escape == "form"   ? notifier::GatewayEscape::kForm
                  : one.escape == "none" ? notifier::GatewayEscape::kNone
                                         : notifier::GatewayEscape::kJson;
  target.body = one.body;
  target.max_length = static_cast<size_t>(one.max_length);
  for (const std::string& text : one.success) {
    const auto status = ParseInt(text);
    if (!status.has_value() || *status < 100 || *status > 599)
      return InvalidArgument(Cat("success: must be an HTTP status (got ", Quote(text), ")"));
    target.success.push_back(static_cast<int>(*status));
  }
  target.external_url = config.external_url;
  ASSIGN_OR_RETURN(auto receiver, notifier::GatewayReceiver::Make(std::move(target)));
  return ReceiverOptions{.delivery = DeliveryOf(one), .receiver = std::move(receiver)};
}

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

StatusOr<std::vector<ReceiverOptions>> Make(const Config& config, const SecretReader& secret,
                                            bool check) {
  const NotifierConfig& notifier = config.notifier;
  std::vector<ReceiverOptions> out;
  std::set<std::string> names;
  const auto add = [&](std::string_view list, const std::string& name,
                       StatusOr<ReceiverOptions> made) -> Status {
    const std::string place = Cat("notifier.", list, ": ", name);
    if (!made.ok()) return Annotate(made.status(), place);
    if (!names.insert(name).second)
      return InvalidArgument(Cat(place, ": name is not unique; rename one of the receivers"));
    out.push_back(*std::move(made));
    return Annotate(CheckReceiver(out.back()), "notifier");
  };
  for (const WebhookConfig& one : notifier.webhooks)
    RETURN_IF_ERROR(add("webhooks", one.name, WebhookOf(one, config, secret, check)));
  for (const AlertmanagerConfig& one : notifier.alertmanagers) {
    auto members = AlertmanagersOf(one, config, secret);
    if (!members.ok()) return Annotate(members.status(), Cat("notifier.alertmanagers: ", one.name));
    if (names.contains(one.name))
      return InvalidArgument(Cat("notifier.alertmanagers: ", one.name,
                                 ": name is not unique; rename one of the receivers"));
    for (ReceiverOptions& member : *members) {
      const std::string name = member.delivery.name;
      RETURN_IF_ERROR(add("alertmanagers", name, std::move(member)));
    }
    names.insert(one.name);
  }
  for (const SlackConfig& one : notifier.slack)
    RETURN_IF_ERROR(add("slack", one.name, SlackOf(one, config, secret)));
  for (const EmailConfig& one : notifier.email)
    RETURN_IF_ERROR(add("email", one.name, EmailOf(one, config, secret)));
  for (const GatewayConfig& one : notifier.gateways)
    RETURN_IF_ERROR(add("gateways", one.name, GatewayOf(one, config, secret)));
  ASSIGN_OR_RETURN(const auto routes, RoutesOf(notifier, names));
  for (ReceiverOptions& receiver : out) receiver.delivery.routes = routes;
  return out;
}

}  // namespace

StatusOr<std::vector<ReceiverOptions>> ReceiversOf(const Config& config,
                                                   const SecretReader& secret) {
  return Make(config, secret, false);
}

Status CheckReceivers(const Config& config) {
  return Make(
             config, [](const std::string&) { return std::string(kAnySecret); }, true)
      .status();
}

}  // namespace pitwall
