// The keys of the section `notifier`.
#include <string>
#include <string_view>

#include "services/base/text/strings.h"
#include "services/pitwall/config_keys.h"

namespace pitwall {

namespace {

void ActionsKey(ConfigKeys& keys, std::string& actions) {
  keys.Choice("actions", {"live", "all", "none"}, &actions,
              "What of the executor is sent: what it decided and did, refusals, and requests by "
              "people; with `all` dry runs too.");
}

void ReceiverKeys(ConfigKeys& keys, ReceiverConfig& receiver, bool notices) {
  keys.Text("name", &receiver.name,
            "Name under which the delivery position is stored, unique among all receivers: 1 to 64 "
            "of `a-z A-Z 0-9 _ -`. Required.");
  keys.Texts("severities", &receiver.severities, "Severities. Empty: all.");
  keys.Bool("from_start", &receiver.from_start,
            "Whether a new receiver begins with the oldest event instead of the next.");
  if (notices) {
    keys.Choice("notify", {"incidents", "events"}, &receiver.notify,
                "What is sent: notices of incidents, or every event of each issue.");
  }
  keys.Bool("notify_symptoms", &receiver.notify_symptoms,
            notices ? "With `events`: whether to send issues whose root cause is open too."
                    : "Whether to send issues whose root cause is open too.");
  ActionsKey(keys, receiver.actions);
  if (receiver.name.empty())
    keys.CheckKey("name", "a receiver needs a name: its position is stored under it");
}

std::string SecretPlaceProblem(std::string_view place) {
  return place.empty() || StartsWith(place, "file:") || StartsWith(place, "env:")
             ? ""
             : "is a secret; name its place: file:PATH or env:NAME";
}

void AlertmanagerKeys(ConfigKeys& keys, AlertmanagerConfig& one) {
  ReceiverKeys(keys, one, false);
  keys.Texts(
      "urls", &one.urls,
      "Address of each Alertmanager of a cluster, with its path prefix: all of them are told, "
      "each with a position of its own. Required.");
  keys.TextMap("headers", &one.headers,
               "Further headers, e.g. `Authorization`. Values: text, `file:PATH` or `env:NAME`.");
  keys.TextMap("labels", &one.labels, "Further labels of every alert, e.g. `cluster: a`.");
  Positive(keys, "resend_interval", &one.resend_interval_ns,
           "Time after which what is firing is sent again.");
  Positive(keys, "hold_ended", &one.hold_ended_ns,
           "How long an alert stays firing whose issue ended otherwise than by being cleared, and "
           "how long alerts outlive a notifier that is away.");
  if (one.urls.empty()) keys.CheckKey("urls", "an Alertmanager needs its address");
}

void SlackKeys(ConfigKeys& keys, SlackConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("url", &one.url,
            "Place of the incoming webhook's address, which is a secret: `file:PATH` or "
            "`env:NAME`. Required.");
  keys.Text("channel", &one.channel, "Another channel, where the webhook may. Empty: its own.");
  if (one.url.empty()) keys.CheckKey("url", "Slack needs the place of its webhook's address");
  keys.CheckValue("url", SecretPlaceProblem(one.url));
}

void EmailKeys(ConfigKeys& keys, EmailConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("host", &one.host, "The SMTP server. Required.");
  keys.Count("port", {1, 65'535, ""}, &one.port, "Its port: 587 for STARTTLS, 465 for TLS.");
  keys.Choice(
      "security", {"starttls", "tls", "none"}, &one.security,
      "How the connection is encrypted. `none` only to loopback, or with `allow_insecure`.");
  keys.Text("user", &one.user, "User. Empty: no AUTH.");
  keys.Text("password", &one.password, "Place of the password: `file:PATH` or `env:NAME`.");
  keys.Text("auth", &one.auth,
            "`plain` or `login`. Empty: the best mechanism that the server offers.");
  keys.Text("ca_file", &one.ca_file, "Certificates to trust. Empty: `notifier.ca_file`.");
  keys.Text("from", &one.from, "Sender: `Name <name@example.org>` or an address. Required.");
  keys.Texts("to", &one.to, "Whom to tell, likewise. Required.");
  if (one.host.empty()) keys.CheckKey("host", "e-mail needs an SMTP server");
  if (one.from.empty()) keys.CheckKey("from", "e-mail needs a sender");
  if (one.to.empty()) keys.CheckKey("to", "e-mail needs at least one address");
  keys.CheckValue("password", SecretPlaceProblem(one.password));
  if (!one.auth.empty() && one.auth != "plain" && one.auth != "login")
    keys.CheckValue("auth", "must be plain or login");
  if (one.user.empty() != one.password.empty())
    keys.CheckKey("user", "user and password belong together");
}

void GatewayKeys(ConfigKeys& keys, GatewayConfig& one) {
  ReceiverKeys(keys, one, true);
  keys.Text("method", &one.method, "HTTP method.");
  keys.Text("url", &one.url, "Address: text, `file:PATH` or `env:NAME`. Required.");
  keys.TextMap("headers", &one.headers,
               "Headers. Values: text, `file:PATH` or `env:NAME`. `Content-Type` follows from "
               "`escape` where it is not given.");
  keys.TextMap("secrets", &one.secrets,
               "Places (`file:PATH`, `env:NAME`) of values that the body names as "
               "`$labels.secret_NAME`.");
  keys.Choice("escape", {"json", "form", "none"}, &one.escape,
              "How values are written into the body.");
  keys.Text("body", &one.body,
            "Template of the body, in the language of rule annotations; its values are "
            "`$labels.text` and those of docs/notify.md. Required.");
  keys.Count("max_length", {20, 10'000, "characters"}, &one.max_length,
             "Length of `$labels.text`, which is cut at a word.");
  keys.Texts("success", &one.success, "Statuses that say that it was taken. Empty: all of 2xx.");
  if (one.url.empty()) keys.CheckKey("url", "a gateway needs its address");
  if (one.body.empty()) keys.CheckKey("body", "a gateway needs the template of its body");
  for (const auto& [name, place] : one.secrets)
    keys.CheckValue("secrets", place.empty() ? "an empty place" : SecretPlaceProblem(place));
}

void FurtherReceiverKeys(ConfigKeys& keys, NotifierConfig& notifier) {
  keys.List("alertmanagers", "an Alertmanager", &notifier.alertmanagers,
            "Prometheus Alertmanagers.",
            [&](AlertmanagerConfig& one) { AlertmanagerKeys(keys, one); });
  keys.List("slack", "a Slack channel", &notifier.slack, "Slack channels, by incoming webhooks.",
            [&](SlackConfig& one) { SlackKeys(keys, one); });
  keys.List("email", "an e-mail receiver", &notifier.email, "People, by e-mail over SMTP.",
            [&](EmailConfig& one) { EmailKeys(keys, one); });
  keys.List("gateways", "a gateway", &notifier.gateways,
            "Any HTTP API that sends short messages: SMS gateways, pagers.",
            [&](GatewayConfig& one) { GatewayKeys(keys, one); });
  keys.List("routes", "a route", &notifier.routes,
            "Which receivers hear of an issue: the first route that matches. A receiver that no "
            "route names hears of everything.",
            [&](RouteConfig& route) {
              keys.Texts("matchers", &route.matchers,
                         "Prometheus' matchers over the issue's labels and `severity`, `job`, "
                         "`pitwall_job`, `owner`, `rule`, `pack`, `alertname`: all must match. "
                         "Required.");
              keys.Texts("receivers", &route.receivers, "Names of receivers. Empty: nobody.");
              keys.Bool("continue", &route.goes_on, "Whether the routes after it are asked, too.");
              if (route.matchers.empty()) keys.CheckKey("matchers", "a route needs a matcher");
            });
}

}  // namespace

void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier) {
  keys.Bool("allow_insecure", &notifier.allow_insecure,
            "Whether receivers may be reached by `http` or plain SMTP beyond loopback.");
  keys.Texts("allowed_cidrs", &notifier.allowed_cidrs,
             "Networks that receivers may be in beyond public addresses and loopback, e.g. "
             "`10.0.0.0/8`.");
  keys.Text("ca_file", &notifier.ca_file,
            "Certificates to trust of receivers. Empty: the system's.");
  FurtherReceiverKeys(keys, notifier);
  keys.List(
      "webhooks", "a webhook", &notifier.webhooks, "Receivers of issue events.",
      [&](WebhookConfig& webhook) {
        keys.Text("name", &webhook.name,
                  "Name under which the delivery position is stored: 1 to 64 of "
                  "`a-z A-Z 0-9 _ -`. Required.");
        keys.Text("url", &webhook.url, "Where to post the events. Required.");
        keys.Texts("types", &webhook.types,
                   "Event types: `issue.found`, `issue.updated`, `issue.resolved`, "
                   "`rule.status`. Empty: the three of issues.");
        keys.Texts("severities", &webhook.severities, "Severities. Empty: all.");
        keys.Texts("secrets", &webhook.secrets,
                   "Places of signing secrets: `file:PATH` or `env:NAME`. Empty: unsigned.");
        keys.Bool("from_start", &webhook.from_start,
                  "Whether a new webhook begins with the oldest event instead of the next.");
        keys.Text("notify", &webhook.notify,
                  "What is sent: `incidents` (one notice when an incident is found, one when "
                  "it has ended, few in between) or `events` (every event of each issue). "
                  "Empty: `incidents`, but `events` with `notify_symptoms`.");
        keys.Bool("notify_symptoms", &webhook.notify_symptoms,
                  "With `events`: whether to send issues whose root cause is open too.");
        ActionsKey(keys, webhook.actions);
        if (!webhook.notify.empty() && webhook.notify != "incidents" && webhook.notify != "events")
          keys.CheckKey("notify", Cat("must be incidents or events, not ", Quote(webhook.notify)));
        if (webhook.notify == "incidents" && webhook.notify_symptoms)
          keys.CheckKey("notify_symptoms",
                        "is for notify: events; a notice of an incident names all its issues");
        if (webhook.name.empty())
          keys.CheckKey("name", "a webhook needs a name: its position is stored under it");
        if (webhook.url.empty()) keys.CheckKey("url", "a webhook needs a url");
      });
}

}  // namespace pitwall
