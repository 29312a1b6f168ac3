// PagerDuty, by the Events API v2 (https://developer.pagerduty.com/docs/events-api-v2-overview).
// Each incident is one alert: its dedup_key is the incident's ID, a found or updated incident
// triggers it, and an end resolves it.
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

using codec::JsonWriter;

// PagerDuty limits a summary to 1,024 characters and an event to 512 KiB.
constexpr size_t kSummaryBytes = 1'000;
constexpr size_t kDetailBytes = 4'000;
constexpr size_t kFieldBytes = 250;

struct PagerDutyTarget {
  std::string url;
  std::string routing_key;  // secret
  std::string external_url;
  bool resolve_ended = true;
  int64_t timeout_ns = 15 * kNanosPerSecond;
};

// Returns one of the four severities of the API.
std::string_view SeverityOf(std::string_view severity) {
  return severity == "critical" || severity == "warning" || severity == "info" ? severity : "error";
}

void Field(std::string_view key, std::string_view text, size_t max, JsonWriter* out) {
  out->Text(key, CutAtWord(OneLineText(text), max));
}

void WriteDetails(const Message& message, JsonWriter* out) {
  out->Key("custom_details");
  out->BeginObject();
  Field("job", message.job, kFieldBytes, out);
  Field("job_id", message.job_id, kFieldBytes, out);
  Field("rule", message.rule, kFieldBytes, out);
  Field("rank", message.location.rank, kFieldBytes, out);
  Field("node", message.location.node, kFieldBytes, out);
  Field("step", message.location.step, kFieldBytes, out);
  Field("description", message.what, kDetailBytes, out);
  Field("suggestion", message.suggestion, kDetailBytes, out);
  Field("ended", message.ended, kFieldBytes, out);
  if (message.issues > 1) out->Text("issues", Cat(message.issues, ", ", message.open, " open"));
  if (!message.further.empty()) {
    out->Key("further");
    out->BeginArray();
    for (const std::string& title : message.further)
      out->String(CutAtWord(OneLineText(title), kFieldBytes));
    out->EndArray();
  }
  out->EndObject();
}

void WritePayload(const Message& message, JsonWriter* out) {
  out->Key("payload");
  out->BeginObject();
  Field("summary", Headline(message, kSummaryBytes), kSummaryBytes, out);
  // The API requires a source.
  const std::string& place = message.location.node.empty() ? message.job_id : message.location.node;
  Field("source", place.empty() ? std::string_view("pitwall") : place, kFieldBytes, out);
  out->Text("severity", SeverityOf(message.severity));
  out->Text("timestamp", message.since);
  Field("group", message.job, kFieldBytes, out);
  Field("class", message.alert, kFieldBytes, out);
  WriteDetails(message, out);
  out->EndObject();
}

class PagerDutyReceiver final : public Receiver {
 public:
  explicit PagerDutyReceiver(PagerDutyTarget target) : target_(std::move(target)) {}
  std::string_view kind() const override { return "pagerduty"; }
  std::string target() const override { return target_.url; }
  std::string identity() const override {
    return Cat(target_.url, " ", StableHashHex(target_.routing_key));
  }

  StatusOr<Call> Render(const Delivery& delivery) const override {
    const Message message = MessageOf(delivery, target_.external_url);
    if (message.incident.empty())
      return InvalidArgument("only events of incidents can be sent to PagerDuty");
    const bool ended = message.kind == Message::Kind::kEnded;
    const bool resolves = ended && (message.resolved || target_.resolve_ended);
    JsonWriter out;
    out.BeginObject();
    out.Text("routing_key", target_.routing_key);
    out.Text("event_action", resolves ? "resolve" : "trigger");
    out.Text("dedup_key", Cat("pitwall-", message.incident));
    WritePayload(message, &out);
    out.Text("client", "Pitwall");
    out.Text("client_url", message.link);
    if (!message.link.empty()) {
      out.Key("links");
      out.BeginArray();
      out.BeginObject();
      out.Text("href", message.link);
      out.Text("text", "Issue in Pitwall");
      out.EndObject();
      out.EndArray();
    }
    out.EndObject();
    return PostOf(target_.url, target_.timeout_ns, "application/json", out.Take());
  }

  Verdict Classify(const Answer& answer) const override { return ClassifyHttp(answer); }

 private:
  const PagerDutyTarget target_;
};

class PagerDutySettings final : public ReceiverSettings {
 public:
  // An action of the executor is not sent, because a trigger after the end of the incident would
  // open a new alert.
  PagerDutySettings() { actions = "none"; }

  void Keys(ConfigKeys& keys) override {
    // The alert is the incident, so the end of one of its issues must not resolve it.
    CommonKeys(keys, {.notify = false, .notify_symptoms = false, .actions = false});
    keys.Text("routing_key", &routing_key,
              "Location of the integration key of the service: `file:PATH` or `env:NAME`. "
              "Required.");
    keys.Text("url", &url,
              "URL of the Events API v2. EU: https://events.eu.pagerduty.com/v2/enqueue.");
    keys.Bool("resolve_ended", &resolve_ended,
              "Also resolve the alert of an incident that ended without being cleared, such as "
              "with its job. `false`: the alert stays open.");
    if (routing_key.empty())
      keys.CheckKey("routing_key", "PagerDuty requires the location of its integration key");
    keys.CheckValue("routing_key", SecretPlaceProblem(routing_key));
    if (url.empty()) keys.CheckValue("url", "must not be empty");
  }
  std::vector<std::pair<std::string_view, std::string>> Urls() const override {
    return {{"url", url}};
  }
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    PagerDutyTarget target;
    target.url = url;
    ASSIGN_OR_RETURN(target.routing_key, context.secret(routing_key));
    target.external_url = context.external_url;
    target.resolve_ended = resolve_ended;
    return std::vector{
        ReceiverOptions{.delivery = Delivery(),
                        .receiver = std::make_shared<PagerDutyReceiver>(std::move(target))}};
  }

  std::string routing_key;  // file:<path> or env:<NAME>
  std::string url = "https://events.pagerduty.com/v2/enqueue";
  bool resolve_ended = true;
};

}  // namespace

ReceiverKind PagerDutyKind() {
  return {.key = "pagerduty",
          .item = "a PagerDuty service",
          .help = "PagerDuty services, by the Events API v2.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<PagerDutySettings>();
          }};
}

}  // namespace pitwall::notifier
