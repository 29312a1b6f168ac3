// Tests for webhook messages about executor decisions and their results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/json/json_reader.h"
#include "services/model/issues/action.h"
#include "services/notifier/testing/webhook_fixture.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WebhookActsTest : public WebhookTest {
 protected:
  WebhookActsTest() { EXPECT_TRUE(log_.EnsureTopic("pitwall.actions", {1, false, -1}).ok()); }

  static ActionEvent ActOn(const IssueEvent& issue, ActionMode mode, ActionEventType type) {
    ActionEvent action;
    action.type = type;
    action.mode = mode;
    action.issue = IssueId(issue);
    action.issue_event = issue.id;
    action.job = issue.job;
    action.rule = issue.rule;
    action.severity = issue.severity;
    action.time = issue.time;
    action.id = MakeActionId(action);
    return action;
  }
  void Write(const ActionEvent& action) {
    OutgoingRecord record;
    record.topic = "pitwall.actions";
    record.partition = 0;
    record.key = action.job;
    record.value = cloudevents::EncodeCloudEvent(action);
    EXPECT_TRUE((*log_.OpenAppender())->Append({record}).ok());
  }
  void Act(const IssueEvent& issue, ActionMode mode, ActionEventType type) {
    Write(ActOn(issue, mode, type));
  }
  int64_t ActsStored(std::string_view name) {
    const auto at = log_.Committed(Cat("pitwall-webhook-", name), {"pitwall.actions", 0});
    return at.ok() && *at ? (*at)->offset : -1;
  }
  // Returns the type and subject of each message that was sent to a webhook, starting with call
  // `from`.
  std::vector<std::string> Sent(std::string_view name, size_t from = 0) const {
    std::vector<std::string> out;
    const auto calls = transport_.calls();
    for (size_t i = from; i < calls.size(); ++i) {
      if (calls[i].url != Cat("https://", name, ".example/hook")) continue;
      const auto read = codec::JsonReader::Parse(calls[i].body, size_t{1} << 20);
      EXPECT_TRUE(read.ok()) << read.status();
      out.push_back(Cat(read->String("type").substr(11), " ", read->String("subject")));
    }
    return out;
  }
};

TEST_F(WebhookActsTest, IssueActedOn_IsAlwaysSent) {
  WebhookOptions critical = Webhook("critical");
  critical.severities = {"critical"};
  const auto sent_to = [&](std::string_view name) {
    std::vector<std::string> out;
    for (const HttpCall& call : transport_.calls()) {
      if (call.url != Cat("https://", name, ".example/hook")) continue;
      const auto event = cloudevents::DecodeCloudEvent(call.body);
      if (event.ok()) out.push_back(Cat(event->rule, "#", event->sequence));
    }
    return out;
  };
  Run({Webhook(), critical});
  const IssueEvent cause = MakeEvent("a", "cause", 1);
  IssueEvent stopper = MakeEvent("a", "stopper", 1);
  IssueEvent other = MakeEvent("a", "other", 1);
  stopper.root_cause = other.root_cause = cause.id;
  Publish(&log_, cause);
  Publish(&log_, stopper);
  Publish(&log_, other);
  Act(other, ActionMode::kDryRun, ActionEventType::kDecided);
  Act(other, ActionMode::kLive, ActionEventType::kRefused);
  Pass([&] { return Stored("w") == 3 && Stored("critical") == 3; });
  EXPECT_THAT(sent_to("w"), ElementsAre("cause#1"));
  EXPECT_THAT(sent_to("critical"), ElementsAre());
  // The receiver fails at first, so the restarted notifier resends the event.
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(503); });
  const size_t before = transport_.answered();
  Act(stopper, ActionMode::kLive, ActionEventType::kDecided);
  Pass([&] { return transport_.answered() >= before + 2; });
  notifier_.reset();
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  const size_t again = transport_.calls().size();
  Run({Webhook(), critical});
  Act(stopper, ActionMode::kLive, ActionEventType::kDone);
  Pass([&] { return ActsStored("w") >= 3 && ActsStored("critical") >= 3; });
  const auto fresh = [&](std::string_view name) {
    std::vector<std::string> out;
    const auto calls = transport_.calls();
    for (size_t i = again; i < calls.size(); ++i) {
      if (calls[i].url != Cat("https://", name, ".example/hook")) continue;
      if (const auto event = cloudevents::DecodeCloudEvent(calls[i].body); event.ok())
        out.push_back(event->rule);
    }
    return out;
  };
  EXPECT_THAT(fresh("w"), ElementsAre("stopper"));
  EXPECT_THAT(fresh("critical"), ElementsAre("stopper"));
  // A receiver that got the issue also gets its end, even after another restart. Other issues
  // remain suppressed.
  notifier_.reset();
  Run({Webhook(), critical});
  Publish(&log_, MakeEvent("a", "other", 2, EventType::kIssueResolved));
  Publish(&log_, MakeEvent("a", "stopper", 2, EventType::kIssueResolved));
  Pass([&] { return Stored("w") == 5 && Stored("critical") == 5; });
  EXPECT_THAT(fresh("w"), ElementsAre("stopper", "stopper"));
  EXPECT_THAT(fresh("critical"), ElementsAre("stopper", "stopper"));
}

TEST_F(WebhookActsTest, DecisionAndEffectAreSentOnceUnderIncident) {
  WebhookOptions incidents = Webhook();
  incidents.notify = NotifyMode::kIncidents;
  WebhookOptions events = Webhook("events");
  Run({incidents, events});
  const IssueEvent cause = MakeEvent("a", "cause", 1);
  IssueEvent stopper = MakeEvent("a", "stopper", 1);
  stopper.root_cause = stopper.incident = cause.id;
  Publish(&log_, cause);
  Publish(&log_, stopper);
  Pass([&] { return Stored("w") == 2 && Stored("events") == 2; });
  Act(stopper, ActionMode::kLive, ActionEventType::kDecided);
  Act(stopper, ActionMode::kLive, ActionEventType::kDecided);  // a repeated commit
  // The first attempt fails, and the retry has the same ID.
  transport_.SetScript([tries = std::make_shared<std::atomic<int>>(0)](const HttpCall&, size_t) {
    return Reply((*tries)++ == 0 ? 503 : 200);
  });
  Act(stopper, ActionMode::kLive, ActionEventType::kDone);
  Pass([&] { return ActsStored("w") == 3 && ActsStored("events") == 3; });
  const std::vector<std::string> ids = transport_.Ids();
  const std::string decided = ActOn(stopper, ActionMode::kLive, ActionEventType::kDecided).id;
  const std::string done = ActOn(stopper, ActionMode::kLive, ActionEventType::kDone).id;
  // Each webhook gets the message once, in addition to the failed attempt.
  EXPECT_LE(std::count(ids.begin(), ids.end(), decided) + std::count(ids.begin(), ids.end(), done),
            5);
  std::vector<std::string> sent = Sent("w");
  // Depending on the clock, an incident update may arrive between these messages.
  std::erase(sent, Cat("incident.updated ", cause.id));
  sent.erase(std::unique(sent.begin(), sent.end()), sent.end());
  EXPECT_THAT(sent, ElementsAre(Cat("incident.found ", cause.id), Cat("issue.found ", stopper.rule),
                                Cat("action.decided ", cause.id), Cat("action.done ", cause.id)));
  sent = Sent("events");
  sent.erase(std::unique(sent.begin(), sent.end()), sent.end());
  EXPECT_THAT(sent,
              ElementsAre(HasSubstr("issue.found"), HasSubstr("issue.found"),
                          Cat("action.decided ", stopper.id), Cat("action.done ", stopper.id)));
  // A restart does not resend any of these messages.
  notifier_.reset();
  const size_t before = transport_.calls().size();
  Run({incidents, events});
  const IssueEvent other = MakeEvent("b", "other", 1);
  Publish(&log_, other);
  Pass([&] { return Stored("w") == 3 && Stored("events") == 3; });
  EXPECT_THAT(Sent("w", before), ElementsAre(Cat("incident.found ", other.id)));
}

TEST_F(WebhookActsTest, RefusalsAreFilteredAndDryRunsAreOptional) {
  WebhookOptions critical = Webhook("critical");
  critical.severities = {"critical"};
  WebhookOptions all = Webhook("all");
  all.actions = ActionFilter::kAll;
  WebhookOptions none = Webhook("none");
  none.actions = ActionFilter::kNone;
  Run({Webhook(), critical, all, none});
  const IssueEvent issue = MakeEvent("a", "r", 1);
  Publish(&log_, issue);
  // The test waits for the issue first, because the order between topics is undefined.
  Pass([&] {
    return Stored("w") == 1 && Stored("critical") == 1 && Stored("all") == 1 && Stored("none") == 1;
  });
  Act(issue, ActionMode::kDryRun, ActionEventType::kDecided);
  Act(issue, ActionMode::kLive, ActionEventType::kRefused);
  Pass([&] {
    return ActsStored("w") == 2 && ActsStored("critical") == 2 && ActsStored("all") == 2 &&
           ActsStored("none") == 2;
  });
  const std::string found = Cat("issue.found ", issue.rule);
  EXPECT_THAT(Sent("w"), ElementsAre(found, Cat("action.refused ", issue.id)));
  EXPECT_THAT(Sent("critical"), ElementsAre());
  EXPECT_THAT(Sent("all"), ElementsAre(found, Cat("action.decided ", issue.id),
                                       Cat("action.refused ", issue.id)));
  EXPECT_THAT(Sent("none"), ElementsAre(found));
}

TEST_F(WebhookActsTest, RequestAndReplyUseRequestIdAsSubject) {
  WebhookOptions incidents = Webhook();
  incidents.notify = NotifyMode::kIncidents;
  Run({incidents});
  ActionEvent request;
  request.type = ActionEventType::kRequested;
  request.mode = ActionMode::kLive;
  request.id = request.issue = "0123456789abcdef0123456789abcdef";
  request.job = "a";
  request.rule = std::string(kStopRequestRule);
  request.principal = "alice";
  request.time = request.expires = EventTime::FromNs(kNanosPerSecond);
  Write(request);
  ActionEvent answer = request;
  answer.type = ActionEventType::kRefused;
  answer.mode = ActionMode::kDryRun;
  answer.id = MakeActionId(answer);
  Write(answer);
  Pass([&] { return ActsStored("w") == 2; });
  EXPECT_THAT(Sent("w"), ElementsAre(Cat("action.requested ", request.id),
                                     Cat("action.refused ", request.id)));
  EXPECT_THAT(transport_.calls()[1].body, HasSubstr(R"("principal":"alice")"));
}

}  // namespace
}  // namespace pitwall::notifier
