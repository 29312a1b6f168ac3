// Settings of gateways.
#include "services/base/text/strings.h"
#include "services/notifier/receivers/gateway.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall::notifier {
namespace {

class GatewaySettings final : public ReceiverSettings {
 public:
  void Keys(ConfigKeys& keys) override {
    CommonKeys(keys, {});
    keys.Text("method", &method, "HTTP method.");
    keys.Text("url", &url, "URL: text, `file:PATH`, or `env:NAME`. Required.");
    keys.TextMap("headers", &headers,
                 "Headers. Values: text, `file:PATH`, or `env:NAME`. The default of `Content-Type` "
                 "depends on `escape`.");
    keys.TextMap("secrets", &secrets,
                 "Locations (`file:PATH`, `env:NAME`) of values that the body uses as "
                 "`$labels.secret_NAME`.");
    keys.Choice("escape", {"json", "form", "none"}, &escape, "Escaping of values in the body.");
    keys.Text("body", &body,
              "Template of the body, in the language of rule annotations, with `$labels.text` and "
              "the values of docs/notify.md. Required.");
    keys.Count("max_length", {20, 10'000, "characters"}, &max_length,
               "Maximum length of `$labels.text`, which is truncated at a word.");
    keys.Texts("success", &success, "HTTP statuses that mean success. Empty: all 2xx.");
    if (url.empty()) keys.CheckKey("url", "a gateway requires a url");
    if (body.empty()) keys.CheckKey("body", "a gateway requires a body");
    for (const auto& [label, place] : secrets)
      keys.CheckValue("secrets", place.empty() ? "must not be empty" : SecretPlaceProblem(place));
  }
  std::vector<std::pair<std::string_view, std::string>> Urls() const override {
    return {{"url", url}};
  }
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    GatewayTarget target;
    target.method = method;
    ASSIGN_OR_RETURN(target.url, context.TextOrSecret(url));
    ASSIGN_OR_RETURN(target.headers, context.TextsOrSecrets(headers));
    ASSIGN_OR_RETURN(target.secrets, context.TextsOrSecrets(secrets));
    target.escape = escape == "form"   ? GatewayEscape::kForm
                    : escape == "none" ? GatewayEscape::kNone
                                       : GatewayEscape::kJson;
    target.body = body;
    target.max_length = static_cast<size_t>(max_length);
    for (const std::string& text : success) {
      const auto status = ParseInt(text);
      if (!status.has_value() || *status < 100 || *status > 599)
        return InvalidArgument(Cat("success: must be an HTTP status (got ", Quote(text), ")"));
      target.success.push_back(static_cast<int>(*status));
    }
    target.external_url = context.external_url;
    ASSIGN_OR_RETURN(auto receiver, GatewayReceiver::Make(std::move(target)));
    return std::vector{ReceiverOptions{.delivery = Delivery(), .receiver = std::move(receiver)}};
  }

  std::string method = "POST";
  std::string url;
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> secrets;
  std::string escape = "json";  // json, form, none
  std::string body;
  int64_t max_length = 160;
  std::vector<std::string> success;
};

}  // namespace

ReceiverKind GatewayKind() {
  return {.key = "gateways",
          .item = "a gateway",
          .help = "HTTP APIs that send short messages, such as SMS gateways and pagers.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<GatewaySettings>();
          }};
}

}  // namespace pitwall::notifier
