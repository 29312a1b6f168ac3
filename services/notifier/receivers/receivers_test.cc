// Tests for Slack, gateway, and Alertmanager receivers: rendered calls and classification of
// replies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/codec/json/json_reader.h"
#include "services/notifier/receivers/alertmanager.h"
#include "services/notifier/receivers/gateway.h"
#include "services/notifier/receivers/message.h"
#include "services/notifier/receivers/slack.h"
#include "services/notifier/receivers/testing/issue_events.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr int64_t kS = kNanosPerSecond;
using Kind = Verdict::Kind;

HttpCall CallOf(const Receiver& receiver, const IssueEvent& event,
                int64_t wall_ns = 1'000'020 * kS) {
  const auto call = receiver.Render({.event = &event, .wall_ns = wall_ns});
  EXPECT_TRUE(call.ok()) << call.status();
  return std::get<HttpCall>(*call);
}

Verdict::Kind VerdictOf(const Receiver& receiver, int code, std::string text = "") {
  return receiver
      .Classify({.code = code, .retry_after = "", .text = std::move(text), .refused = {}})
      .kind;
}

TEST(Slack, FoundIssueShowsJobRuleRankStepAndLink) {
  const SlackReceiver slack({.url = "https://hooks.slack.invalid/services/T/B/secret",
                             .external_url = "https://pitwall.invalid"});
  const std::string body = CallOf(slack, Found()).body;
  for (const char* part :
       {"*Job*\\nllm", "*Rule*\\ntraining/numerics/NonFinite", "*Rank*\\n3", "*Step*\\n120",
        "#d00000", "1970-01-12T13:46:40Z", "<https://pitwall.invalid/jobs/u0:llm:1?issue="})
    EXPECT_THAT(body, HasSubstr(part));
  EXPECT_THAT(body, HasSubstr("&lt;NaN&gt; &amp; stays"));
  EXPECT_THAT(slack.target(), Not(HasSubstr("secret")));
}

TEST(Slack, TextsStayWithinSlackLimits) {
  IssueEvent event = Found();
  event.summary = std::string(100'000, '<');
  event.suggestion = std::string(50'000, '&');
  event.job_name = std::string(20'000, '>');
  const SlackReceiver slack({.url = "https://x.invalid/"});
  const std::string body = CallOf(slack, event).body;
  EXPECT_LT(body.size(), 40'000U);
  size_t longest = 0;
  for (size_t at = 0; (at = body.find("\"text\":\"", at)) != std::string::npos;) {
    at += 8;
    longest = std::max(longest, body.find('"', at) - at);
  }
  EXPECT_LE(longest, 3'000U);
}

TEST(Slack, UpdateIsOneLineAndOnlyClearedIssueIsResolved) {
  const SlackReceiver slack({.url = "https://x.invalid/"});
  const std::string resolved = CallOf(slack, Ended(EndReason::kCleared)).body;
  EXPECT_THAT(resolved, HasSubstr("*RESOLVED*"));
  EXPECT_THAT(resolved, HasSubstr("abcdef012345"));
  const std::string ended = CallOf(slack, Ended(EndReason::kJobEnded)).body;
  EXPECT_THAT(ended, HasSubstr("*ENDED*"));
  EXPECT_THAT(ended, Not(HasSubstr("RESOLVED")));
  EXPECT_THAT(ended, HasSubstr("ended: job_ended (failed)"));
}

TEST(Slack, MessageLineHasNoDuplicateText) {
  const SlackReceiver slack({.url = "https://x.invalid/"});
  EXPECT_THAT(CallOf(slack, Ended(EndReason::kCleared)).body,
              HasSubstr("*RESOLVED* [critical] llm: NonFinite rank 3 node n1 step 120 since "));
  IssueEvent job = Found();
  job.type = EventType::kJobChanged;
  job.alert = job.rule = job.severity = job.summary = "";
  job.labels = {};
  job.step = kNoStep;
  job.job_change = JobChange::kAttemptBegan;
  EXPECT_THAT(CallOf(slack, job).body, HasSubstr("*JOB* llm: job attempt_began\""));
}

TEST(Slack, ClassifiesReplies) {
  const SlackReceiver slack({.url = "https://x.invalid/"});
  EXPECT_EQ(VerdictOf(slack, 200), Kind::kTaken);
  EXPECT_EQ(VerdictOf(slack, 429), Kind::kThrottled);
  EXPECT_EQ(VerdictOf(slack, 400, "invalid_payload"), Kind::kRejected);
  EXPECT_EQ(VerdictOf(slack, 404, "no_service"), Kind::kFailed);
  EXPECT_EQ(VerdictOf(slack, 410, "channel_is_archived"), Kind::kGone);
  EXPECT_EQ(VerdictOf(slack, 0), Kind::kFailed);
  EXPECT_THAT(
      slack.Classify({.code = 404, .retry_after = "", .text = "no_service", .refused = {}}).error,
      HasSubstr("no_service"));
}

TEST(Slack, ApiReply_IsClassifiedByBody) {
  const SlackReceiver slack({.url = "https://slack.invalid/api/chat.postMessage"});
  using Kind = Verdict::Kind;
  EXPECT_EQ(VerdictOf(slack, 200, "ok"), Kind::kTaken);
  EXPECT_EQ(VerdictOf(slack, 200, R"({"ok":true,"ts":"1"})"), Kind::kTaken);
  EXPECT_EQ(VerdictOf(slack, 200, R"({"ok":false,"error":"channel_not_found"})"), Kind::kRejected);
  EXPECT_EQ(VerdictOf(slack, 200, R"({"ok":false,"error":"ratelimited"})"), Kind::kThrottled);
  EXPECT_EQ(VerdictOf(slack, 200, "{"), Kind::kTaken);
}

TEST(ClassifyHttp, ClassifiesEachStatus) {
  using Kind = Verdict::Kind;
  const auto kind = [](int code) { return ClassifyHttp({.code = code}).kind; };
  for (const int code : {200, 201, 202, 204, 207}) EXPECT_EQ(kind(code), Kind::kTaken) << code;
  for (const int code : {400, 405, 406, 409, 411, 412, 413, 415, 416, 417, 422, 428, 431, 451, 501})
    EXPECT_EQ(kind(code), Kind::kRejected) << code;
  for (const int code : {0, 301, 307, 401, 403, 404, 407, 408, 425, 500, 502, 503, 504})
    EXPECT_EQ(kind(code), Kind::kFailed) << code;
  EXPECT_EQ(kind(429), Kind::kThrottled);
  EXPECT_EQ(kind(410), Kind::kGone);
}

TEST(ClassifyHttp, Redirect_NamesNewAddressWithoutQuery) {
  EXPECT_EQ(ClassifyHttp({.code = 308, .location = "https://new.invalid/hook?token=secret"}).error,
            "HTTP 308: moved to https://new.invalid/hook; set this address in the configuration");
}

TEST(Gateway, EscapesValuesAsJson) {
  IssueEvent event = Found();
  event.summary = "quote \" and \\ and \n line";
  GatewayTarget target;
  target.url = "https://sms.invalid/send?key=secret";
  target.body =
      R"({"to": "+491", "key": "{{ $labels.secret_key }}", "text": "{{ $labels.text }}"})";
  target.secrets = {{"key", "s\"cret"}};
  target.max_length = 1'000;
  const auto gateway = GatewayReceiver::Make(target);
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  const HttpCall call = CallOf(**gateway, event);
  const auto body = codec::JsonReader::Parse(call.body, 100'000);
  ASSERT_TRUE(body.ok()) << call.body;
  EXPECT_EQ(body->String("key"), "s\"cret");
  EXPECT_EQ(body->String("text"),
            "FOUND critical llm: NonFinite rank 3 node n1 step 120 since 1970-01-12T13:46:40Z: "
            "quote \" and \\ and line");
  EXPECT_EQ((*gateway)->target(), "POST https://sms.invalid/…");
}

TEST(Gateway, EscapesValuesAsForm) {
  IssueEvent event = Found();
  event.job_name = "a&b=c";
  GatewayTarget target;
  target.url = "https://sms.invalid/";
  target.escape = GatewayEscape::kForm;
  target.body = "to=1&text={{ $labels.job }}";
  const auto gateway = GatewayReceiver::Make(target);
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  const HttpCall call = CallOf(**gateway, event);
  EXPECT_EQ(call.body, "to=1&text=a%26b%3Dc");
  EXPECT_EQ(call.headers.back().second, "application/x-www-form-urlencoded");
}

TEST(Gateway, TruncatesTextAtWordBoundaryAndKeepsLink) {
  IssueEvent event = Found();
  event.summary = std::string(50, 'a') + " größer " + std::string(300, 'b');
  const Message message = MessageOf({.event = &event}, "https://p.invalid");
  for (const size_t max : {40U, 120U, 160U, 200U, 1'000U}) {
    const std::string text = OneLine(message, max);
    EXPECT_LE(Characters(text), max) << text;
    if (max > 100) {
      EXPECT_THAT(text, HasSubstr(message.link));
    }
  }
  EXPECT_EQ(OneLineText("a\nb\r\n\tc\u2028d\u0085e"), "a b c d e");
  EXPECT_EQ(CutAtWord("one two three", 10), "one two…");
  EXPECT_EQ(CutAtWord("ääääääää", 10), "äää…");
}

TEST(Gateway, RejectsInvalidBodyAtStartup) {
  GatewayTarget target;
  target.url = "https://sms.invalid/";
  target.body = R"({"text": {{ $labels.text }}})";  // without quotes
  EXPECT_THAT(std::string(ToStd(GatewayReceiver::Make(target).status().message())),
              HasSubstr("must be JSON"));
  target.body = R"({"text": "{{ $labels.txt }}"})";
  EXPECT_THAT(std::string(ToStd(GatewayReceiver::Make(target).status().message())),
              HasSubstr("\"txt\" not found"));
  target.body = "{{ if }}";
  EXPECT_FALSE(GatewayReceiver::Make(target).ok());
}

TEST(Gateway, OnlyListedStatusesCountAsSuccess) {
  GatewayTarget target;
  target.url = "https://sms.invalid/";
  target.body = R"("{{ $labels.text }}")";
  target.success = {202};
  const auto gateway = *GatewayReceiver::Make(target);
  EXPECT_EQ(VerdictOf(*gateway, 202), Kind::kTaken);
  EXPECT_EQ(VerdictOf(*gateway, 200), Kind::kFailed);
  EXPECT_EQ(VerdictOf(*gateway, 429), Kind::kThrottled);
}

TEST(Alertmanager, AlertHasStableIssueLabels) {
  const AlertmanagerReceiver receiver({.url = "http://127.0.0.1:9093/am/",
                                       .labels = {{"cluster", "a"}},
                                       .external_url = "https://p.invalid"});
  IssueEvent event = Found();
  const HttpCall call = CallOf(receiver, event);
  EXPECT_EQ(call.url, "http://127.0.0.1:9093/am/api/v2/alerts");
  const auto in = codec::JsonReader::Parse(Cat("{\"a\":", call.body, "}"), 100'000);
  ASSERT_TRUE(in.ok());
  std::string labels;
  in->ForEachObject("a", [&](const codec::JsonReader& alert) {
    labels = alert.LabelSet("labels").ToString();
    EXPECT_EQ(alert.Time("startsAt"), 1'000'000 * kS);
    EXPECT_EQ(alert.Time("endsAt"), (1'000'020 + 3'600) * kS);
    EXPECT_THAT(alert.String("generatorURL"), HasSubstr("https://p.invalid/jobs/u0:llm:1?issue="));
    EXPECT_EQ(alert.LabelSet("annotations").Get("step"), "120");
  });
  EXPECT_EQ(labels,
            "{alertname=\"NonFinite\",cluster=\"a\",incident=\"abcdef0123456789\",job_name=\"llm\","
            "node=\"n1\",pack=\"training\",pitwall_job=\"u0:llm:1\",rank=\"3\","
            "rule=\"training/numerics/NonFinite\",severity=\"critical\"}");
  event.root_cause = "other";
  event.value = 7;
  EXPECT_THAT(CallOf(receiver, event).body,
              HasSubstr(call.body.substr(0, call.body.find("annotations"))));
}

TEST(Alertmanager, OnlyClearedIssueResolvesAlertImmediately) {
  const int64_t hold = 3'600 * kS, wall = 2'000'000 * kS;
  EXPECT_EQ(AlertEndNs(Found(), hold, wall), wall + hold);
  const IssueEvent cleared = Ended(EndReason::kCleared);
  EXPECT_EQ(AlertEndNs(cleared, hold, wall), cleared.ended_at.ns());
  for (const EndReason reason : {EndReason::kNoData, EndReason::kAttemptEnded, EndReason::kJobEnded,
                                 EndReason::kRuleRemoved}) {
    const IssueEvent ended = Ended(reason);
    EXPECT_EQ(AlertEndNs(ended, hold, wall), ended.ended_at.ns() + hold);
  }
  IssueEvent odd = cleared;
  odd.ended_at = odd.active_since;
  EXPECT_GT(AlertEndNs(odd, hold, wall), odd.active_since.ns());
}

TEST(Alertmanager, ReminderContainsAllStates) {
  const AlertmanagerReceiver receiver({.url = "http://127.0.0.1:9093"});
  const IssueEvent event = Found();
  const std::vector<EventPtr> states = {
      std::make_shared<const IssueEvent>(Found()),
      std::make_shared<const IssueEvent>(Ended(EndReason::kCleared))};
  const auto call = receiver.Render({.event = &event, .states = &states, .wall_ns = 5 * kS});
  ASSERT_TRUE(call.ok());
  const std::string& body = std::get<HttpCall>(*call).body;
  EXPECT_EQ(body.front(), '[');
  size_t alerts = 0;
  for (size_t at = 0; (at = body.find("\"labels\"", at)) != std::string::npos; ++at) ++alerts;
  EXPECT_EQ(alerts, 2U);
}

}  // namespace
}  // namespace pitwall::notifier
