// Keys of the `notifier` section.
#include <memory>

#include "services/app/config/config_keys.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall {

void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier) {
  keys.Bool("allow_insecure", &notifier.allow_insecure,
            "Allow plain `http` and plain SMTP to receivers at addresses other than loopback.");
  keys.Texts("allowed_cidrs", &notifier.allowed_cidrs,
             "Networks that receivers may be in, besides public addresses and loopback, e.g. "
             "`10.0.0.0/8`.");
  keys.Text("ca_file", &notifier.ca_file,
            "Certificate authorities of the receivers. Empty: those of the system.");
  for (const notifier::ReceiverKind& kind : notifier::ReceiverKinds()) {
    keys.ListOf(kind.key, kind.item, &notifier.receivers[std::string(kind.key)], kind.help,
                kind.settings,
                [&](const std::shared_ptr<notifier::ReceiverSettings>& one) { one->Keys(keys); });
  }
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

}  // namespace pitwall
