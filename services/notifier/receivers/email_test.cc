#include "services/notifier/receivers/email.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr int64_t kS = kNanosPerSecond;

IssueEvent Event(EventType type, uint64_t sequence) {
  IssueEvent e;
  e.type = type;
  e.job = "u0:llm:1";
  e.job_name = "llm";
  e.rule = "training/g/NonFinite";
  e.alert = "NonFinite";
  e.labels = Labels{{"alertname", "NonFinite"}, {"severity", "critical"}, {"rank", "3"}};
  e.severity = "critical";
  e.time = EventTime::FromNs(1'000'000 * kS + static_cast<int64_t>(sequence));
  e.active_since = EventTime::FromNs(1'000'000 * kS);
  e.sequence = sequence;
  e.step = 7;
  e.summary = "it is not finite";
  if (type == EventType::kIssueResolved) e.end_reason = EndReason::kCleared;
  e.id = MakeEventId(e);
  return e;
}

EmailReceiver Receiver_(std::string name = "Pitwall") {
  EmailTarget target;
  target.server.host = "smtp.invalid";
  target.from = {std::move(name), "pitwall@example.org"};
  target.to = {{"", "a@example.org"}, {"Grüße, Ops", "b@example.org"}};
  target.external_url = "https://p.invalid";
  return EmailReceiver(std::move(target));
}

MailCall MailOf(const EmailReceiver& receiver, const IssueEvent& event,
                const Notice* notice = nullptr) {
  const auto call = receiver.Render({.event = &event, .notice = notice, .wall_ns = 1'000'000 * kS});
  EXPECT_TRUE(call.ok()) << call.status();
  return std::get<MailCall>(*call);
}

std::string Header(const MailCall& call, std::string_view name) {
  const std::string headers =
      Cat("\r\n", call.message.substr(0, call.message.find("\r\n\r\n")), "\r\n");
  const size_t at = headers.find(Cat("\r\n", name, ": "));
  if (at == std::string::npos) return "";
  size_t end = headers.find("\r\n", at + 2);
  while (end + 2 < headers.size() && headers[end + 2] == ' ') end = headers.find("\r\n", end + 2);
  return headers.substr(at + 4 + name.size(), end - at - 4 - name.size());
}

// Returns an incident notice like those from IncidentPolicy.
Notice NoticeOf(const IssueEvent& event) {
  Notice notice;
  notice.id = Cat("notice", event.sequence);
  notice.kind = event.type;
  notice.incident = "incident1";
  notice.severity = event.severity;
  notice.summary = event.summary;
  notice.began_ns = event.active_since.ns();
  notice.issue_count = 1;
  notice.open_count = event.type == EventType::kIssueResolved ? 0 : 1;
  notice.issues = {{"i", std::make_shared<const IssueEvent>(event)}};
  notice.issue_ids = {"i"};
  return notice;
}

TEST(Email, IncidentMessagesFormOneThread) {
  const EmailReceiver receiver = Receiver_();
  const IssueEvent found = Event(EventType::kIssueFound, 1);
  const IssueEvent ended = Event(EventType::kIssueResolved, 2);
  const Notice first = NoticeOf(found), last = NoticeOf(ended);
  const MailCall a = MailOf(receiver, found, &first), b = MailOf(receiver, ended, &last);
  EXPECT_EQ(Header(a, "References"), "");
  EXPECT_EQ(Header(b, "References"), Header(a, "Message-ID"));
  EXPECT_EQ(Header(b, "In-Reply-To"), Header(a, "Message-ID"));
  EXPECT_NE(Header(b, "Message-ID"), Header(a, "Message-ID"));
  EXPECT_EQ(Header(MailOf(receiver, found, &first), "Message-ID"), Header(a, "Message-ID"));
  EXPECT_EQ(Header(a, "Subject"), "[critical] llm: NonFinite rank 3 step 7");
  EXPECT_EQ(Header(b, "Subject"), "[critical] RESOLVED llm: NonFinite rank 3 step 7");
  EXPECT_EQ(Header(a, "Date"), "Mon, 12 Jan 1970 13:46:40 +0000");
  EXPECT_EQ(a.to, (std::vector<std::string>{"a@example.org", "b@example.org"}));
}

TEST(Email, TextAndHtmlContainAllValues) {
  const MailCall call = MailOf(Receiver_(), Event(EventType::kIssueFound, 1));
  for (const char* part : {"multipart/alternative", "text/plain; charset=utf-8",
                           "Job: llm (u0:llm:1)", "ule: training/g/NonFinite", "Rank: 3", "Step: 7",
                           "https://p.invalid/jobs/u0:llm:1", "<td>training/g/NonFinite</td>"})
    EXPECT_THAT(call.message, HasSubstr(part));
}

TEST(Email, ValuesCannotInjectHeadersOrLines) {
  IssueEvent event = Event(EventType::kIssueFound, 1);
  event.job_name = "x\r\nBcc: evil@example.org\r\n\r\nbody";
  event.labels = Labels{{"alertname", "A"}, {"rank", "3\nX-Evil: 1"}};
  event.summary = "line\r\n.\r\nMAIL FROM:<evil@example.org>\r\n--=_pitwall_x";
  event.incident = "i\r\nX-Evil: 2";
  const MailCall call = MailOf(Receiver_("Evil\r\nX-Evil: 3"), event);
  EXPECT_EQ(Header(call, "Bcc"), "");
  EXPECT_EQ(Header(call, "X-Evil"), "");
  EXPECT_THAT(call.message, Not(HasSubstr("\nX-Evil")));
  EXPECT_THAT(call.message, Not(HasSubstr("\r\n.\r\n")));
  for (const std::string_view line : Split(call.message, '\n')) {
    EXPECT_LE(line.size(), 998U);
    EXPECT_TRUE(line.empty() || line.back() == '\r') << line;
  }
}

TEST(Email, NonAsciiNamesBecomeEncodedWords) {
  const std::string to = Header(MailOf(Receiver_(), Event(EventType::kIssueFound, 1)), "To");
  EXPECT_THAT(to, HasSubstr("=?UTF-8?B?R3LDvMOfZSwgT3Bz?="));
  EXPECT_THAT(to, HasSubstr("<b@example.org>"));
  IssueEvent event = Event(EventType::kIssueFound, 1);
  event.job_name = std::string("模型訓練工作名稱很長很長很長很長很長很長");
  const std::string subject = Header(MailOf(Receiver_(), event), "Subject");
  for (const std::string_view line : Split(subject, '\n')) EXPECT_LE(line.size(), 78U) << line;
  EXPECT_EQ(subject.find_first_not_of(
                "=?UTF-8?BabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/\r\n "),
            std::string::npos);
}

TEST(Mime, QuotedPrintableLinesAreShortAndSafe) {
  EXPECT_EQ(QuotedPrintable("a=b\n"), "a=3Db\r\n");
  EXPECT_EQ(QuotedPrintable("ä "), "=C3=A4=20\r\n");
  EXPECT_EQ(QuotedPrintable(".\nFrom x\n"), "=2E\r\n=46rom x\r\n");
  for (const std::string_view line : Split(QuotedPrintable(std::string(500, 'x')), '\n'))
    EXPECT_LE(line.size(), 77U);
}

TEST(Mime, ValidatesAddresses) {
  const auto named = ParseMailAddress("\"On Call\" <on.call@example.org>");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->name, "On Call");
  EXPECT_EQ(named->address, "on.call@example.org");
  for (const char* bad :
       {"", "a", "a@", "@b", "a b@c", "a@b@c", "a@b\r\nRCPT TO:<x@y>", "x <a@b", "ü@b.de"})
    EXPECT_FALSE(ParseMailAddress(bad).ok()) << bad;
}

TEST(Email, ClassifiesReplyCodes) {
  const EmailReceiver receiver = Receiver_();
  const auto kind = [&](int code) {
    return receiver.Classify({.code = code, .retry_after = "", .text = "", .refused = {}}).kind;
  };
  EXPECT_EQ(kind(250), Verdict::Kind::kTaken);
  EXPECT_EQ(kind(451), Verdict::Kind::kFailed);
  EXPECT_EQ(kind(550), Verdict::Kind::kFailed);
  EXPECT_EQ(kind(552), Verdict::Kind::kRejected);
  EXPECT_EQ(kind(0), Verdict::Kind::kFailed);
  for (const int code : {530, 534, 535}) EXPECT_EQ(kind(code), Verdict::Kind::kDenied);
}

TEST(Email, PartiallyRefusedMail_NamesRefusedRecipients) {
  const Verdict verdict = Receiver_().Classify(
      {.code = 250, .retry_after = "", .text = "ok", .refused = {"gone@x.org (550 no such user)"}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::kTaken);
  EXPECT_THAT(verdict.error, ::testing::HasSubstr("gone@x.org (550 no such user)"));
}

}  // namespace
}  // namespace pitwall::notifier
