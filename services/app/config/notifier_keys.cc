// Keys of the `notifier` section.
#include <string>
#include <string_view>

#include "services/app/config/config_keys.h"
#include "services/base/text/strings.h"

namespace pitwall {

namespace {

void ActionsKey(ConfigKeys& keys, std::string& actions) {
  keys.Choice("actions", {"live", "all", "none"}, &actions,
              "Actions of the executor that are sent: decisions, results, refusals, and requests "
              "of users; `all` includes dry runs.");
}

void ReceiverKeys(ConfigKeys& keys, ReceiverConfig& receiver, bool notices) {
  keys.Text("name", &receiver.name,
            "Name under which the delivery position is stored, unique among all receivers: 1 to 64 "
            "of `a-z A-Z 0-9 _ -`. Required.");
  keys.Texts("severities", &receiver.severities, "Severities. Empty: all.");
  keys.Bool("from_start", &receiver.from_start,
            "Start a new receiver at the oldest event instead of the next one.");
  if (notices) {
    keys.Choice("notify", {"incidents", "events"}, &receiver.notify,
                "Messages to send: notifications of incidents, or every event of each issue.");
  }
  keys.Bool("notify_symptoms", &receiver.notify_symptoms,
            notices ? "With `events`: also send issues whose root cause is open."
                    : "Also send issues whose root cause is open.");
  ActionsKey(keys, receiver.actions);
  if (receiver.name.empty())
    keys.CheckKey("name", "a receiver requires a name, under which its position is stored");
}

std::string SecretPlaceProblem(std::string_view place) {
  return place.empty() || StartsWith(place, "file:") || StartsWith(place, "env:")
             ? ""
             : "must be the location of a secret; specify file:PATH or env:NAME";
}

void AlertmanagerKeys(ConfigKeys& keys, AlertmanagerConfig& one) {
  ReceiverKeys(keys, one, false);
  keys.Texts("urls", &one.urls,
             "URL of each Alertmanager of a cluster, with its path prefix. Each of them is "
             "notified and has its own position. Required.");
  keys.TextMap(
      "headers", &one.headers,
      "Additional headers, e.g. `Authorization`. Values: text, `file:PATH`, or `env:NAME`.");
  keys.TextMap("labels", &one.labels, "Additional labels of every alert, e.g. `cluster: a`.");
  Positive(keys, "resend_interval", &one.resend_interval_ns,
           "Interval at which firing alerts are sent again.");
  Positive(keys, "hold_ended", &one.hold_ended_ns,
           "Time for which an alert stays firing after its issue ended without being cleared, and "
           "for which alerts outlive a stopped notifier.");
  if (one.urls.empty()) keys.CheckKey("urls", "an Alertmanager requires urls");
}

void SlackKeys(ConfigKeys& keys, SlackConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("url", &one.url,
            "Location of the URL of the incoming webhook, which is a secret: `file:PATH` or "
            "`env:NAME`. Required.");
  keys.Text("channel", &one.channel,
            "Another channel, if the webhook permits it. Empty: the channel of the webhook.");
  if (one.url.empty())
    keys.CheckKey("url", "Slack requires the location of the URL of its webhook");
  keys.CheckValue("url", SecretPlaceProblem(one.url));
}

void EmailKeys(ConfigKeys& keys, EmailConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("host", &one.host, "SMTP server. Required.");
  keys.Count("port", {1, 65'535, ""}, &one.port,
             "Port of the server: 587 for STARTTLS, 465 for TLS.");
  keys.Choice(
      "security", {"starttls", "tls", "none"}, &one.security,
      "Encryption of the connection. `none` is allowed for loopback, or with `allow_insecure`.");
  keys.Text("user", &one.user, "User. Empty: no AUTH.");
  keys.Text("password", &one.password, "Location of the password: `file:PATH` or `env:NAME`.");
  keys.Text("auth", &one.auth,
            "`plain` or `login`. Empty: the best mechanism that the server offers.");
  keys.Text("ca_file", &one.ca_file, "Certificates to trust. Empty: `notifier.ca_file`.");
  keys.Text("from", &one.from, "Sender: `Name <name@example.org>` or an address. Required.");
  keys.Texts("to", &one.to, "Recipients, in the same format. Required.");
  if (one.host.empty()) keys.CheckKey("host", "e-mail requires an SMTP server");
  if (one.from.empty()) keys.CheckKey("from", "e-mail requires a sender");
  if (one.to.empty()) keys.CheckKey("to", "e-mail requires at least one address");
  keys.CheckValue("password", SecretPlaceProblem(one.password));
  if (!one.auth.empty() && one.auth != "plain" && one.auth != "login")
    keys.CheckValue("auth", "must be plain or login");
  if (one.user.empty() != one.password.empty())
    keys.CheckKey("user", "user and password require each other; specify both or neither");
}

void GatewayKeys(ConfigKeys& keys, GatewayConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("method", &one.method, "HTTP method.");
  keys.Text("url", &one.url, "URL: text, `file:PATH`, or `env:NAME`. Required.");
  keys.TextMap("headers", &one.headers,
               "Headers. Values: text, `file:PATH`, or `env:NAME`. The default of `Content-Type` "
               "depends on `escape`.");
  keys.TextMap(
      "secrets", &one.secrets,
      "Locations (`file:PATH`, `env:NAME`) of values that the body uses as `$labels.secret_NAME`.");
  keys.Choice("escape", {"json", "form", "none"}, &one.escape, "Escaping of values in the body.");
  keys.Text("body", &one.body,
            "Template of the body, in the language of rule annotations, with `$labels.text` and "
            "the values of docs/notify.md. Required.");
  keys.Count("max_length", {20, 10'000, "characters"}, &one.max_length,
             "Maximum length of `$labels.text`, which is truncated at a word.");
  keys.Texts("success", &one.success, "HTTP statuses that mean success. Empty: all 2xx.");
  if (one.url.empty()) keys.CheckKey("url", "a gateway requires a url");
  if (one.body.empty()) keys.CheckKey("body", "a gateway requires a body");
  for (const auto& [name, place] : one.secrets)
    keys.CheckValue("secrets", place.empty() ? "must not be empty" : SecretPlaceProblem(place));
}

void FurtherReceiverKeys(ConfigKeys& keys, NotifierConfig& notifier) {
  keys.List("alertmanagers", "an Alertmanager", &notifier.alertmanagers,
            "Prometheus Alertmanagers.",
            [&](AlertmanagerConfig& one) { AlertmanagerKeys(keys, one); });
  keys.List("slack", "a Slack channel", &notifier.slack, "Slack channels, by incoming webhooks.",
            [&](SlackConfig& one) { SlackKeys(keys, one); });
  keys.List("email", "an e-mail receiver", &notifier.email, "E-mail recipients, over SMTP.",
            [&](EmailConfig& one) { EmailKeys(keys, one); });
  keys.List("gateways", "a gateway", &notifier.gateways,
            "HTTP APIs that send short messages, such as SMS gateways and pagers.",
            [&](GatewayConfig& one) { GatewayKeys(keys, one); });
  keys.List(
      "routes", "a route", &notifier.routes,
      "Receivers of an issue: those of the first route that matches. A receiver that is in no "
      "route gets every issue.",
      [&](RouteConfig& route) {
        keys.Texts(
            "matchers", &route.matchers,
            "Prometheus matchers over the labels of the issue and `severity`, `job`, "
            "`pitwall_job`, `owner`, `rule`, `pack`, and `alertname`. All must match. Required.");
        keys.Texts("receivers", &route.receivers, "Names of receivers. Empty: no receiver.");
        keys.Bool("continue", &route.continues, "Continue with the next routes.");
        if (route.matchers.empty()) keys.CheckKey("matchers", "a route requires a matcher");
      });
}

}  // namespace

void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier) {
  keys.Bool("allow_insecure", &notifier.allow_insecure,
            "Allow plain `http` and plain SMTP to receivers at addresses other than loopback.");
  keys.Texts("allowed_cidrs", &notifier.allowed_cidrs,
             "Networks that receivers may be in, besides public addresses and loopback, e.g. "
             "`10.0.0.0/8`.");
  keys.Text("ca_file", &notifier.ca_file,
            "Certificate authorities of the receivers. Empty: those of the system.");
  FurtherReceiverKeys(keys, notifier);
  keys.List(
      "webhooks", "a webhook", &notifier.webhooks, "Receivers of issue events.",
      [&](WebhookConfig& webhook) {
        keys.Text("name", &webhook.name,
                  "Name under which the delivery position is stored: 1 to 64 of "
                  "`a-z A-Z 0-9 _ -`. Required.");
        keys.Text("url", &webhook.url, "URL to which events are posted. Required.");
        keys.Texts("types", &webhook.types,
                   "Event types: `issue.found`, `issue.updated`, `issue.resolved`, `rule.status`. "
                   "Empty: the three types of issues.");
        keys.Texts("severities", &webhook.severities, "Severities. Empty: all.");
        keys.Texts("secrets", &webhook.secrets,
                   "Locations of signing secrets: `file:PATH` or `env:NAME`. Empty: unsigned.");
        keys.Bool("from_start", &webhook.from_start,
                  "Start a new webhook at the oldest event instead of the next one.");
        keys.Text("notify", &webhook.notify,
                  "Messages to send: `incidents` (one notification when an incident is found, one "
                  "when it has ended, and few in between) or `events` (every event of each issue). "
                  "Empty: `incidents`, or `events` with `notify_symptoms`.");
        keys.Bool("notify_symptoms", &webhook.notify_symptoms,
                  "With `events`: also send issues whose root cause is open.");
        ActionsKey(keys, webhook.actions);
        if (!webhook.notify.empty() && webhook.notify != "incidents" && webhook.notify != "events")
          keys.CheckKey("notify",
                        Cat("must be incidents or events (got ", Quote(webhook.notify), ")"));
        if (webhook.notify == "incidents" && webhook.notify_symptoms)
          keys.CheckKey(
              "notify_symptoms",
              "requires notify: events; a notification of an incident names all its issues");
        if (webhook.name.empty())
          keys.CheckKey("name", "a webhook requires a name, under which its position is stored");
        if (webhook.url.empty()) keys.CheckKey("url", "a webhook requires a url");
      });
}

}  // namespace pitwall
