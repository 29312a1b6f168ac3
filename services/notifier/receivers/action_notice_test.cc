// Tests for messages about executor actions, for each kind of receiver.
#include "services/notifier/receivers/action_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/notifier/receivers/alertmanager.h"
#include "services/notifier/receivers/email.h"
#include "services/notifier/receivers/gateway.h"
#include "services/notifier/receivers/slack.h"
#include "services/notifier/receivers/webhook.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr int64_t kS = kNanosPerSecond;

IssueEvent Issue() {
  IssueEvent e;
  e.job = "u0:llm:1";
  e.job_name = "llm";
  e.rule = "training/numerics/LossNotFinite";
  e.alert = "LossNotFinite";
  e.labels = Labels{{"alertname", "LossNotFinite"}, {"severity", "critical"}, {"rank", "3"}};
  e.severity = "critical";
  e.time = e.active_since = EventTime::FromNs(1'000'000 * kS);
  e.sequence = 1;
  e.step = 120;
  e.id = MakeEventId(e);
  return e;
}

ActionEvent Act(ActionEventType type, ActionMode mode = ActionMode::kLive) {
  const IssueEvent issue = Issue();
  ActionEvent a;
  a.type = type;
  a.mode = mode;
  a.issue = a.issue_event = issue.id;
  a.job = issue.job;
  a.job_name = issue.job_name;
  a.rule = issue.rule;
  a.alert = issue.alert;
  a.severity = issue.severity;
  a.why = "policy */LossNotFinite: live; the issue is open and <pid 7> runs";
  if (type == ActionEventType::kDone) a.effect = "SIGTERM sent; it has ended";
  a.time = issue.time + Duration::Seconds(1);
  a.id = MakeActionId(a);
  return a;
}

ActionEvent Request() {
  ActionEvent a;
  a.type = ActionEventType::kRequested;
  a.mode = ActionMode::kLive;
  a.id = a.issue = "0123456789abcdef0123456789abcdef";
  a.job = "u0:llm:1";
  a.rule = std::string(kStopRequestRule);
  a.principal = "alice";
  a.why = "wrong data set";
  a.time = EventTime::FromNs(1'000'000 * kS);
  a.expires = a.time + Duration::Seconds(60);
  return a;
}

Call CallOf(const Receiver& receiver, const ActionEvent& action, const IssueEvent& event) {
  const ActionNotice notice{action, "incident1", "incident1"};
  const auto call =
      receiver.Render({.event = &event, .action = &notice, .wall_ns = 1'000'020 * kS});
  EXPECT_TRUE(call.ok()) << call.status();
  return *call;
}

TEST(ActionNotice, WebhookUsesIncidentAsSubject) {
  const WebhookReceiver webhook(
      {.url = "https://hook.invalid/", .external_url = "https://pitwall.invalid"});
  const ActionEvent done = Act(ActionEventType::kDone);
  const auto call = std::get<HttpCall>(CallOf(webhook, done, Issue()));
  EXPECT_THAT(call.body, HasSubstr(R"("type":"io.pitwall.action.done")"));
  EXPECT_THAT(call.body, HasSubstr(R"("subject":"incident1")"));
  EXPECT_THAT(call.body, HasSubstr(R"("incident":"incident1")"));
  EXPECT_THAT(call.body, HasSubstr("https://pitwall.invalid/jobs/u0:llm:1?issue="));
  EXPECT_THAT(call.headers,
              ::testing::Contains(std::pair<std::string, std::string>("webhook-id", done.id)));
  const auto read = cloudevents::DecodeActionEvent(call.body);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->effect, done.effect);
  EXPECT_EQ(read->rule, done.rule);
}

TEST(ActionNotice, IntervalRequestIsNotAStop) {
  ActionEvent request = Request();
  request.kind = ActionKind::kInterval;
  request.rule = std::string(kIntervalRequestRule);
  request.interval = Duration::Millis(100);
  EXPECT_TRUE(IsRequest(request));
  EXPECT_EQ(ActionText(request),
            "alice requests a sampling interval of 100ms on the job's nodes: wrong data set");
  EXPECT_EQ(ActionVerb(request), "INTERVAL REQUESTED");
  EXPECT_EQ(EventOfAction(request).alert, "IntervalRequested");
}

TEST(ActionNotice, ParameterChangeIsNotAStop) {
  ActionEvent event = Request();
  event.kind = ActionKind::kParameter;
  event.rule = std::string(kParameterRequestRule);
  event.parameter = {"p/g/A", "limit", 0.3, 5};
  EXPECT_TRUE(IsRequest(event));
  EXPECT_EQ(ActionText(event),
            "alice requests the parameter limit of p/g/A: 5 -> 0.3: wrong data set");
  EXPECT_EQ(ActionVerb(event), "PARAMETER REQUESTED");
  event.type = ActionEventType::kDone;
  EXPECT_FALSE(IsLiveAct(event));
  EXPECT_EQ(ActionVerb(event), "PARAMETER SET");
  EXPECT_EQ(
      ActionText(event),
      "the parameter limit of p/g/A: 5 -> 0.3 is in effect, as requested by alice: wrong data "
      "set");
  event.type = ActionEventType::kRefused;
  EXPECT_EQ(ActionVerb(event), "PARAMETER REFUSED");
  EXPECT_EQ(EventOfAction(event).type, EventType::kJobChanged);
}

TEST(ActionNotice, TextNamesRuleOrPrincipal) {
  EXPECT_EQ(ActionText(Act(ActionEventType::kDecided)),
            "the job is stopped by rule training/numerics/LossNotFinite: policy */LossNotFinite: "
            "live; the issue is open and <pid 7> runs");
  EXPECT_EQ(ActionText(Act(ActionEventType::kDone)),
            "the job's stop by rule training/numerics/LossNotFinite is complete: SIGTERM sent; it "
            "has ended");
  EXPECT_THAT(ActionText(Act(ActionEventType::kRefused)), HasSubstr("was not stopped by rule"));
  EXPECT_THAT(ActionText(Act(ActionEventType::kDecided, ActionMode::kDryRun)),
              HasSubstr("would be stopped by rule training/numerics/LossNotFinite (dry run)"));
  EXPECT_EQ(ActionText(Request()), "alice requests that the job be stopped: wrong data set");
  ActionEvent decided = Request();
  decided.type = ActionEventType::kDecided;
  EXPECT_EQ(ActionText(decided), "the job is stopped as requested by alice: wrong data set");
}

TEST(ActionNotice, DryRunsAreOptionalAndRepliesAreAlwaysSent) {
  const ActionEvent dry = Act(ActionEventType::kDecided, ActionMode::kDryRun);
  EXPECT_FALSE(IsSelected(dry, ActionFilter::kLive));
  EXPECT_TRUE(IsSelected(dry, ActionFilter::kAll));
  EXPECT_TRUE(IsSelected(Act(ActionEventType::kRefused), ActionFilter::kLive));
  EXPECT_FALSE(IsSelected(Act(ActionEventType::kDone), ActionFilter::kNone));
  ActionEvent answer = Request();
  answer.type = ActionEventType::kDecided;
  answer.mode = ActionMode::kDryRun;
  EXPECT_TRUE(IsSelected(answer, ActionFilter::kLive));
}

TEST(ActionNotice, SlackMessageIsOneLine) {
  const SlackReceiver slack({.url = "https://x.invalid/"});
  const std::string body =
      std::get<HttpCall>(CallOf(slack, Act(ActionEventType::kDecided), Issue())).body;
  EXPECT_THAT(body, HasSubstr("*STOP DECIDED* [critical] llm: LossNotFinite rank 3 step 120"));
  EXPECT_THAT(body, HasSubstr("the job is stopped by rule training/numerics/LossNotFinite"));
  EXPECT_THAT(body, HasSubstr("&lt;pid 7&gt;"));
  EXPECT_THAT(body, HasSubstr("`incident1`"));
}

TEST(ActionNotice, EmailJoinsIncidentThread) {
  EmailTarget target;
  target.from = *ParseMailAddress("pitwall@example.org");
  target.to = {*ParseMailAddress("ops@example.org")};
  const EmailReceiver mail(target);
  const std::string text =
      std::get<MailCall>(CallOf(mail, Act(ActionEventType::kDone), Issue())).message;
  EXPECT_THAT(text, HasSubstr("In-Reply-To: <incident."));
  EXPECT_THAT(text, HasSubstr("STOP DONE"));
  EXPECT_THAT(text, HasSubstr("it has ended"));
}

TEST(ActionNotice, GatewayGetsVerbAndText) {
  GatewayTarget target;
  target.url = "https://sms.invalid/";
  target.body = R"({"v": "{{ $labels.verb }}", "s": "{{ $labels.state }}",)"
                R"( "t": "{{ $labels.text }}", "i": "{{ $labels.incident }}"})";
  target.max_length = 300;
  const auto gateway = *GatewayReceiver::Make(target);
  const ActionEvent request = Request();
  const std::string body =
      std::get<HttpCall>(CallOf(*gateway, request, EventOfAction(request))).body;
  EXPECT_THAT(body, HasSubstr(R"("v": "STOP REQUESTED", "s": "open")"));
  EXPECT_THAT(body, HasSubstr("STOP REQUESTED u0:llm:1: StopRequested since 1970-01-12T13:46:40Z: "
                              "alice requests that the job be stopped: wrong data set"));
}

TEST(ActionNotice, AlertIncludesLastActionAsAnnotation) {
  const AlertmanagerReceiver alertmanager({.url = "https://am.invalid"});
  const IssueEvent issue = Issue();
  const auto body = [&](std::function<std::string(std::string_view)> acted) {
    const auto call = alertmanager.Render(
        {.event = &issue, .acted = std::move(acted), .wall_ns = 1'000'020 * kS});
    EXPECT_TRUE(call.ok()) << call.status();
    return std::get<HttpCall>(*call).body;
  };
  EXPECT_THAT(body([&](std::string_view id) { return id == issue.id ? "stopped by it" : ""; }),
              HasSubstr(R"("action":"stopped by it")"));
  EXPECT_THAT(body(nullptr), Not(HasSubstr("\"action\"")));
}

}  // namespace
}  // namespace pitwall::notifier
