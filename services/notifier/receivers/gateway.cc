#include "services/notifier/receivers/gateway.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/json/json_reader.h"
#include "services/codec/json/json_writer.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

std::string Escaped(std::string_view text, GatewayEscape escape) {
  if (escape == GatewayEscape::kJson) {
    codec::JsonWriter out;
    out.String(text);
    const std::string quoted = out.Take();
    return quoted.substr(1, quoted.size() - 2);
  }
  if (escape == GatewayEscape::kNone) return std::string(text);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '*';
    if (plain) {
      out.push_back(c);
    } else if (c == ' ') {
      out.push_back('+');
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

// Returns the values that a body template may use.
std::vector<Label> ValuesOf(const Message& message, const GatewayTarget& target) {
  std::vector<Label> values = {{"text", OneLine(message, target.max_length)},
                               {"id", message.id},
                               {"incident", message.incident},
                               {"state", message.kind != Message::Kind::kEnded ? "open"
                                         : message.resolved                    ? "resolved"
                                                                               : "ended"},
                               {"verb", std::string(Verb(message))},
                               {"severity", message.severity},
                               {"job", message.job},
                               {"job_id", message.job_id},
                               {"alert", message.alert},
                               {"rule", message.rule},
                               {"rank", message.location.rank},
                               {"node", message.location.node},
                               {"step", message.location.step},
                               {"what", OneLineText(message.what)},
                               {"since", message.since},
                               {"ended", message.ended},
                               {"link", message.link}};
  for (const auto& [name, value] : target.secrets) values.push_back({Cat("secret_", name), value});
  for (Label& value : values) value.value = Escaped(value.value, target.escape);
  return values;
}

StatusOr<std::string> Expand(const templates::Template& body, std::vector<Label> values) {
  const Labels labels = Labels::FromPairs(std::move(values));
  templates::TemplateInput input;
  input.labels = &labels;
  return body.TryExpand(input);
}

}  // namespace

StatusOr<std::shared_ptr<const GatewayReceiver>> GatewayReceiver::Make(GatewayTarget target) {
  ASSIGN_OR_RETURN(templates::Template body, templates::Template::Parse("body", target.body));
  IssueEvent event;
  event.job = "job \"1\"\n\\&";
  event.alert = "Alert";
  std::vector<Label> values = ValuesOf(MessageOf({.event = &event}, ""), target);
  for (const templates::LabelUse& use : body.labels()) {
    const bool known = std::any_of(values.begin(), values.end(),
                                   [&](const Label& value) { return value.name == use.name; });
    if (known) continue;
    std::vector<std::string> names;
    for (const Label& value : values) names.push_back(value.name);
    return InvalidArgument(
        Cat("body: value ", Quote(use.name), " not found; available values: ", Join(names, ", ")));
  }
  ASSIGN_OR_RETURN(const std::string sample, Expand(body, std::move(values)));
  if (target.escape == GatewayEscape::kJson && !sample.empty()) {
    if (const auto parsed =
            codec::JsonReader::Parse(Cat("{\"body\":", sample, "}"), size_t{1} << 20);
        !parsed.ok())
      return InvalidArgument(Cat("body: must be JSON after its values are substituted (",
                                 ToStd(parsed.status().message()),
                                 "); write JSON, or set escape to form or none"));
  }
  return std::shared_ptr<const GatewayReceiver>(
      new GatewayReceiver(std::move(target), std::move(body)));
}

std::string GatewayReceiver::target() const {
  const size_t host = target_.url.find("://");
  const size_t path = host == std::string::npos ? host : target_.url.find_first_of("/?", host + 3);
  return Cat(target_.method, " ", target_.url.substr(0, path), "/…");
}

StatusOr<Call> GatewayReceiver::Render(const Delivery& delivery) const {
  const Message message = MessageOf(delivery, target_.external_url);
  HttpCall call;
  call.method = target_.method;
  call.url = target_.url;
  call.headers = target_.headers;
  call.timeout = Duration::Nanos(target_.timeout_ns);
  ASSIGN_OR_RETURN(call.body, Expand(body_, ValuesOf(message, target_)));
  const bool typed = std::any_of(call.headers.begin(), call.headers.end(), [](const auto& header) {
    return header.first.size() == 12 &&
           std::equal(header.first.begin(), header.first.end(), "content-type",
                      [](char a, char b) { return (a | 0x20) == b; });
  });
  if (!typed) {
    call.headers.emplace_back("Content-Type", target_.escape == GatewayEscape::kJson
                                                  ? "application/json"
                                              : target_.escape == GatewayEscape::kForm
                                                  ? "application/x-www-form-urlencoded"
                                                  : "text/plain; charset=utf-8");
  }
  return call;
}

Verdict GatewayReceiver::Classify(const Answer& answer) const {
  if (target_.success.empty() || answer.code == 0) return ClassifyHttp(answer);
  const bool taken = std::find(target_.success.begin(), target_.success.end(), answer.code) !=
                     target_.success.end();
  if (taken) return {Verdict::Kind::kTaken, ""};
  Verdict verdict = ClassifyHttp(answer);
  if (verdict.kind == Verdict::Kind::kTaken)
    verdict = {Verdict::Kind::kFailed, Cat("HTTP ", answer.code, " is not listed in `success`")};
  return verdict;
}

}  // namespace pitwall::notifier
