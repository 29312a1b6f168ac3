#include "services/notifier/receivers/slack.h"

#include "services/base/text/markup.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/json/json_reader.h"
#include "services/codec/json/json_writer.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

using codec::JsonWriter;

// Slack limits the text of a section to 3,000 characters, a field to 2,000, and a header to 150.
// Escaping may expand one character to five.
constexpr size_t kMaxReplyBytes = size_t{64} << 10;
constexpr size_t kSectionBytes = 2'800;
constexpr size_t kFieldBytes = 300;
constexpr size_t kLineBytes = 500;
constexpr size_t kHeadlineBytes = 250;

std::string_view ColorOf(const Message& message) {
  if (message.kind == Message::Kind::kEnded) return message.resolved ? "#2eb67d" : "#8d8d8d";
  if (message.severity == "critical") return "#d00000";
  if (message.severity == "warning") return "#e8a317";
  return "#439fe0";
}

void Mrkdwn(std::string_view text, JsonWriter* out) {
  out->BeginObject();
  out->Text("type", "mrkdwn");
  out->Text("text", text);
  out->EndObject();
}

void Section(std::string_view text, JsonWriter* out) {
  out->BeginObject();
  out->Text("type", "section");
  out->Key("text");
  Mrkdwn(text, out);
  out->EndObject();
}

// Formats a link. A configured address needs no escaping except for "&".
std::string Link(const std::string& url, std::string_view text) {
  return url.empty() ? std::string(text) : Cat("<", SlackText(url, 2'000), "|", text, ">");
}

void WriteFields(const Message& message, JsonWriter* out) {
  out->BeginObject();
  out->Text("type", "section");
  out->Key("fields");
  out->BeginArray();
  const auto field = [&](std::string_view name, const std::string& value) {
    if (!value.empty())
      Mrkdwn(Cat("*", name, "*\n", SlackText(OneLineText(value), kFieldBytes)), out);
  };
  field("Job", message.job);
  field("Rule", message.rule);
  field("Rank", message.location.rank);
  field("Step", message.location.step);
  field("Node", message.location.node);
  field("Severity", message.severity);
  field("Since", message.since);
  if (message.issues > 1) field("Issues", Cat(message.issues, ", ", message.open, " open"));
  out->EndArray();
  out->EndObject();
}

// Escapes the text and truncates it to Slack's section limit of 3,000 characters.
std::string Bounded(std::string_view text) {
  std::string escaped = SlackText(text, kSectionBytes);
  for (size_t max = kSectionBytes / 2; escaped.size() > kSectionBytes; max /= 2)
    escaped = SlackText(text, max);
  return escaped;
}

void WriteFound(const Message& message, JsonWriter* out) {
  const std::string title = SlackText(Headline(message, kHeadlineBytes), kHeadlineBytes);
  Section(Cat("*", Link(message.link, title), "*"), out);
  Section(Bounded(message.what), out);
  WriteFields(message, out);
  if (!message.suggestion.empty()) Section(Cat("_To do:_ ", Bounded(message.suggestion)), out);
  if (!message.further.empty()) {
    std::string text = "_With it:_ ";
    for (const std::string& title_of_one : message.further)
      CatTo(text, &title_of_one == &message.further.front() ? "" : ", ",
            SlackText(title_of_one, kFieldBytes));
    Section(text, out);
  }
}

void WriteLine(const Message& message, JsonWriter* out) {
  std::string text =
      Cat("*", Verb(message), "* ",
          Link(message.link, SlackText(HeadlineWithoutVerb(message, kHeadlineBytes), 300)));
  if (!message.since.empty()) CatTo(text, " since ", message.since);
  if (!message.ended.empty() && !message.resolved) CatTo(text, ", ", SlackText(message.ended, 200));
  if (message.other_root) CatTo(text, ", the root cause changed");
  // A message without an alert name already uses this text as its title.
  if (message.kind != Message::Kind::kEnded && !message.alert.empty()) {
    CatTo(text, ": ", SlackText(OneLineText(message.what), kLineBytes));
  }
  if (!message.incident.empty()) CatTo(text, "  `", message.incident.substr(0, 12), "`");
  Section(text, out);
}

// Classifies a reply body. Slack API methods report a failure with status 200 and "ok": false,
// whereas webhooks reply "ok".
Verdict ClassifyBody(std::string_view body) {
  const auto reply = codec::JsonReader::Parse(body, kMaxReplyBytes);
  if (!reply.ok() || !reply->Has("ok") || reply->Bool("ok")) return {Verdict::Kind::kTaken, ""};
  const std::string error = reply->String("error");
  const bool limited = error == "ratelimited" || error == "rate_limited";
  return {limited ? Verdict::Kind::kThrottled : Verdict::Kind::kRejected,
          Cat("HTTP 200 ", CutAtWord(OneLineText(error), 80))};
}

}  // namespace

std::string SlackText(std::string_view text, size_t max) {
  std::string out;
  for (const char c : CutAtWord(text, max)) {
    // Slack defines only these three entities.
    const std::string_view entity = c == '&' || c == '<' || c == '>' ? MarkupEntity(c) : "";
    if (entity.empty()) {
      out.push_back(c);
    } else {
      out += entity;
    }
  }
  return out;
}

std::string SlackReceiver::target() const {
  const size_t host = target_.url.find("://");
  const size_t path = host == std::string::npos ? host : target_.url.find('/', host + 3);
  return Cat(target_.url.substr(0, path), "/…");
}

StatusOr<Call> SlackReceiver::Render(const Delivery& delivery) const {
  const Message message = MessageOf(delivery, target_.external_url);
  JsonWriter out;
  out.BeginObject();
  if (!target_.channel.empty()) out.Text("channel", target_.channel);
  out.Text("text",
           SlackText(Headline(message, kHeadlineBytes), kHeadlineBytes));  // shown in notifications
  out.Key("attachments");
  out.BeginArray();
  out.BeginObject();
  out.Text("color", ColorOf(message));
  out.Key("blocks");
  out.BeginArray();
  if (message.kind == Message::Kind::kFound) {
    WriteFound(message, &out);
  } else {
    WriteLine(message, &out);
  }
  out.EndArray();
  out.EndObject();
  out.EndArray();
  out.EndObject();
  return PostOf(target_.url, target_.timeout_ns, "application/json; charset=utf-8", out.Take());
}

Verdict SlackReceiver::Classify(const Answer& answer) const {
  Verdict verdict = ClassifyHttp(answer);
  if (verdict.kind == Verdict::Kind::kTaken) return ClassifyBody(answer.text);
  // Slack's replies contain error codes such as invalid_payload or channel_is_archived.
  if (answer.code != 0) CatTo(verdict.error, " ", CutAtWord(OneLineText(answer.text), 80));
  return verdict;
}

}  // namespace pitwall::notifier
