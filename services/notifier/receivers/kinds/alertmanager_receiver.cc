// Settings of Alertmanagers.
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/notifier/receivers/alertmanager.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall::notifier {
namespace {

class AlertmanagerSettings final : public ReceiverSettings {
 public:
  void Keys(ConfigKeys& keys) override {
    CommonKeys(keys, {.notify = false});
    keys.Texts("urls", &urls,
               "URL of each Alertmanager of a cluster, with its path prefix. Each of them is "
               "notified and has its own position. Required.");
    keys.TextMap(
        "headers", &headers,
        "Additional headers, e.g. `Authorization`. Values: text, `file:PATH`, or `env:NAME`.");
    keys.TextMap("labels", &labels, "Additional labels of every alert, e.g. `cluster: a`.");
    Positive(keys, "resend_interval", &resend_interval_ns,
             "Interval at which firing alerts are sent again.");
    Positive(
        keys, "hold_ended", &hold_ended_ns,
        "Time for which an alert stays firing after its issue ended without being cleared, and "
        "for which alerts outlive a stopped notifier.");
    if (urls.empty()) keys.CheckKey("urls", "an Alertmanager requires urls");
  }
  std::vector<std::pair<std::string_view, std::string>> Urls() const override {
    std::vector<std::pair<std::string_view, std::string>> out;
    for (const std::string& url : urls) out.emplace_back("urls", url);
    return out;
  }
  // Returns one receiver per cluster member, so that an unavailable member does not delay
  // deliveries to other members.
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    std::vector<ReceiverOptions> out;
    for (const std::string& url : urls) {
      AlertmanagerTarget target;
      target.url = url;
      ASSIGN_OR_RETURN(target.headers, context.TextsOrSecrets(headers));
      target.labels.assign(labels.begin(), labels.end());
      target.external_url = context.external_url;
      target.hold_ended_ns = hold_ended_ns;
      DeliveryOptions delivery = Delivery();
      delivery.notify = NotifyMode::kStates;
      delivery.resend_ns = resend_interval_ns;
      delivery.hold_ended_ns = hold_ended_ns;
      delivery.routed_as = name;
      // The notifier stores the delivery position under the receiver's name, so the name depends
      // only on the member's URL.
      if (urls.size() > 1) delivery.name = Cat(name, "-", StableHashHex(url).substr(0, 8));
      out.push_back({.delivery = std::move(delivery),
                     .receiver = std::make_shared<AlertmanagerReceiver>(std::move(target))});
    }
    return out;
  }

  std::vector<std::string> urls;  // one per cluster member
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> labels;
  int64_t resend_interval_ns = 60 * kNanosPerSecond;
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;
};

}  // namespace

ReceiverKind AlertmanagerKind() {
  return {.key = "alertmanagers",
          .item = "an Alertmanager",
          .help = "Prometheus Alertmanagers.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<AlertmanagerSettings>();
          }};
}

}  // namespace pitwall::notifier
