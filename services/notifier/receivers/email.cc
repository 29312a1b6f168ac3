#include "services/notifier/receivers/email.h"

#include <algorithm>

#include "services/base/text/markup.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kSubjectBytes = 200;
constexpr size_t kTextBytes = 8'000;

using Rows = std::vector<std::pair<std::string_view, std::string>>;

Rows RowsOf(const Message& message) {
  Rows rows;
  const auto row = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) rows.emplace_back(name, OneLineText(CutAtWord(value, kTextBytes)));
  };
  row("Job",
      message.job == message.job_id ? message.job : Cat(message.job, " (", message.job_id, ")"));
  row("Rule", message.rule);
  row("Rank", message.location.rank);
  row("Step", message.location.step);
  row("Node", message.location.node);
  row("Severity", message.severity);
  row("Since", message.since);
  row("State", message.ended);
  if (message.issues > 1) row("Issues", Cat(message.issues, ", ", message.open, " open"));
  if (!message.further.empty()) row("With it", Join(message.further, ", "));
  row("Incident", message.incident);
  return rows;
}

std::string TextOf(const Message& message, const Rows& rows) {
  std::string text = Cat(Verb(message), ": ", CutAtWord(message.what, kTextBytes), "\n\n");
  if (message.other_root) text += "The root cause changed.\n\n";
  for (const auto& [name, value] : rows) CatTo(text, name, ": ", value, "\n");
  if (!message.suggestion.empty())
    CatTo(text, "\nTo do: ", CutAtWord(message.suggestion, kTextBytes), "\n");
  if (!message.link.empty()) CatTo(text, "\n", message.link, "\n");
  return text;
}

std::string HtmlOf(const Message& message, const Rows& rows) {
  const std::string_view color = message.kind == Message::Kind::kEnded
                                     ? (message.resolved ? "#2eb67d" : "#8d8d8d")
                                 : message.severity == "critical" ? "#d00000"
                                 : message.severity == "warning"  ? "#e8a317"
                                                                  : "#439fe0";
  std::string html =
      Cat("<!DOCTYPE html>\n<html><body style=\"font-family:sans-serif\">\n"
          "<h3 style=\"border-left:6px solid ",
          color, ";padding-left:8px\">", EscapeMarkup(Headline(message, kSubjectBytes)),
          "</h3>\n<p>", EscapeMarkup(CutAtWord(message.what, kTextBytes)), "</p>\n<table>\n");
  for (const auto& [name, value] : rows)
    CatTo(html, "<tr><th align=\"left\">", name, "</th><td>", EscapeMarkup(value), "</td></tr>\n");
  html += "</table>\n";
  if (!message.suggestion.empty())
    CatTo(html, "<p><b>To do:</b> ", EscapeMarkup(CutAtWord(message.suggestion, kTextBytes)),
          "</p>\n");
  if (!message.link.empty())
    CatTo(html, "<p><a href=\"", EscapeMarkup(message.link), "\">Open in Pitwall</a></p>\n");
  html += "</body></html>\n";
  return html;
}

}  // namespace

std::string EmailReceiver::target() const {
  std::string text = Cat(target_.server.host, ":", target_.server.port);
  for (const MailAddress& to : target_.to) CatTo(text, " ", to.address);
  return text;
}

StatusOr<Call> EmailReceiver::Render(const Delivery& delivery) const {
  const Message message = MessageOf(delivery, target_.external_url);
  const std::string domain = target_.from.domain();
  const bool first = message.kind == Message::Kind::kFound;
  const std::string root = Cat("<incident.", StableHashHex(message.incident), "@", domain, ">");
  const std::string own = first && delivery.notice != nullptr
                              ? root
                              : Cat("<", StableHashHex(message.id), "@", domain, ">");
  const std::string boundary = Cat("=_pitwall_", StableHashHex(Cat(message.id, "\xff", "part")));

  std::string mail;
  const auto header = [&](std::string_view name, std::string_view value) {
    CatTo(mail, name, ": ", value, "\r\n");
  };
  header("From", HeaderAddress(target_.from, 6));
  std::string to;
  for (const MailAddress& address : target_.to)
    CatTo(to, to.empty() ? "" : ",\r\n ", HeaderAddress(address, 4));
  header("To", to);
  header("Date", MailDate(delivery.wall_ns));
  header("Subject", HeaderText(Headline(message, kSubjectBytes), 9));
  header("Message-ID", own);
  if (own != root && !message.incident.empty()) {
    header("In-Reply-To", root);
    header("References", root);
  }
  header("Auto-Submitted", "auto-generated");
  if (!message.incident.empty()) header("X-Pitwall-Incident", HeaderText(message.incident, 20));
  header("MIME-Version", "1.0");
  header("Content-Type", Cat("multipart/alternative;\r\n boundary=\"", boundary, "\""));
  mail += "\r\n";
  const Rows rows = RowsOf(message);
  const auto part = [&](std::string_view type, std::string_view text) {
    CatTo(mail, "--", boundary, "\r\n");
    header("Content-Type", Cat(type, "; charset=utf-8"));
    header("Content-Transfer-Encoding", "quoted-printable");
    CatTo(mail, "\r\n", QuotedPrintable(text), "\r\n");
  };
  part("text/plain", TextOf(message, rows));
  part("text/html", HtmlOf(message, rows));
  CatTo(mail, "--", boundary, "--\r\n");

  MailCall call;
  call.server = target_.server;
  call.from = target_.from.address;
  for (const MailAddress& address : target_.to) call.to.push_back(address.address);
  call.message = std::move(mail);
  call.timeout = Duration::Nanos(target_.timeout_ns);
  return call;
}

Verdict EmailReceiver::Classify(const Answer& answer) const {
  using Kind = Verdict::Kind;
  if (answer.code == 0) return {Kind::kFailed, answer.text};
  if (answer.code >= 200 && answer.code < 300) {
    if (answer.refused.empty()) return {Kind::kTaken, ""};
    std::string who;
    for (const std::string& one : answer.refused)
      CatTo(who, who.empty() ? "" : ", ", CutAtWord(OneLineText(one), 200));
    return {Kind::kTaken, Cat(target_.server.host, " rejected these recipients: ", who,
                              "; the other recipients got the message; correct `to`")};
  }
  std::string error = Cat("SMTP ", answer.code, " ", CutAtWord(OneLineText(answer.text), 200));
  switch (answer.code) {
    case 530:  // authentication required
    case 534:  // authentication mechanism too weak
    case 535:  // wrong user or password
      return {Kind::kDenied,
              Cat(error, ": ", target_.server.host, ":", target_.server.port, " rejected user ",
                  Quote(target_.server.user), "; correct `user`, `password`, or `auth`")};
    case 552:  // message too large
    case 554:  // transaction failed
      return {Kind::kRejected, std::move(error)};
    default:
      return {Kind::kFailed, std::move(error)};
  }
}

}  // namespace pitwall::notifier
