// End-to-end webhook tests with an in-memory log, a scripted transport, and a fake clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/webhook_fixture.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FixedSigner final : public WebhookSigner {
 public:
  std::string Sign(std::string_view id, int64_t timestamp, std::string_view body) const override {
    return Cat("v1,", id, ".", timestamp, ".", body.size());
  }
};

TEST_F(WebhookTest, PostsEventWithHeaders) {
  WebhookOptions webhook = Webhook();
  webhook.signer = std::make_shared<FixedSigner>();
  webhook.headers = {{"Authorization", "Bearer x"}};
  Publish(&log_, MakeEvent("before", "r", 1));  // published before the start, so it is not sent
  Run({webhook});
  const IssueEvent event = MakeEvent("a", "r", 1);
  Publish(&log_, event);
  transport_.AwaitAnswered(1);
  const HttpCall call = transport_.calls()[0];
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.url, "https://w.example/hook");
  EXPECT_EQ(call.body, cloudevents::EncodeCloudEvent(event));
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "Content-Type"), "application/cloudevents+json");
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "Authorization"), "Bearer x");
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "webhook-id"), event.id);
  const std::string seconds = Cat(clock_.WallNs() / kNanosPerSecond);
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "webhook-timestamp"), seconds);
  EXPECT_EQ(ScriptedTransport::HeaderOf(call, "webhook-signature"),
            Cat("v1,", event.id, ".", seconds, ".", call.body.size()));
  Pass([&] { return Stored("w") == 2; });
  EXPECT_EQ(StatusOf().delivered, 1U);
}

TEST_F(WebhookTest, FiltersByTypeAndSeverity) {
  WebhookOptions critical = Webhook("critical");
  critical.severities = {"critical"};
  WebhookOptions resolved = Webhook("resolved");
  resolved.types = {EventType::kIssueResolved, EventType::kRuleStatus};
  Run({critical, resolved});
  Publish(&log_, MakeEvent("a", "r", 1));
  Publish(&log_, MakeEvent("b", "r", 1, EventType::kIssueFound, "critical"));
  Publish(&log_, MakeEvent("c", "r", 0, EventType::kRuleStatus));
  Publish(&log_, MakeEvent("a", "r", 2, EventType::kIssueResolved));
  transport_.AwaitAnswered(3);
  Pass([&] { return Stored("critical") == 4 && Stored("resolved") == 4; });
  std::multiset<std::string> sent;
  for (const HttpCall& call : transport_.calls()) {
    sent.insert(Cat(call.url.substr(8, 1), cloudevents::DecodeCloudEvent(call.body)->job));
  }
  EXPECT_EQ(sent, (std::multiset<std::string>{"cb", "ra", "rc"}));
}

TEST_F(WebhookTest, RetriesUntilAccepted) {
  transport_.SetScript([](const HttpCall&, size_t n) -> StatusOr<HttpReply> {
    if (n == 0) return Reply(500);
    if (n == 1) return DeadlineExceeded("no answer in 15 s");
    if (n == 2) return Reply(302);
    if (n == 3) return Reply(429, "120");
    return Reply(204);
  });
  Run({Webhook()});
  Publish(&log_, MakeEvent("a", "r", 1));
  Publish(&log_, MakeEvent("a", "r", 2, EventType::kIssueUpdated));
  int64_t asked_at = 0;
  Pass([&] {
    if (transport_.answered() == 4 && asked_at == 0) asked_at = clock_.MonotonicNs();
    return Stored("w") == 2;
  });
  EXPECT_GE(clock_.MonotonicNs() - asked_at, 119 * kNanosPerSecond) << "Retry-After";
  const std::vector<std::string> ids = transport_.Ids();
  ASSERT_EQ(ids.size(), 6U);
  const std::string first = MakeEvent("a", "r", 1).id;
  EXPECT_THAT(ids, ElementsAre(first, first, first, first, first,
                               MakeEvent("a", "r", 2, EventType::kIssueUpdated).id));
  EXPECT_EQ(StatusOf().attempts_failed, 4U);
  EXPECT_EQ(StatusOf().last_error, "");
}

TEST_F(WebhookTest, DeadEndpointDoesNotBlockOthers) {
  transport_.SetScript([](const HttpCall& call, size_t) -> StatusOr<HttpReply> {
    if (call.url.find("dead") != std::string::npos) return Unavailable("connection refused");
    return Reply(200);
  });
  WebhookOptions dead = Webhook("dead");
  dead.max_pending = 4;
  Run({dead, Webhook("alive")});
  for (int i = 0; i < 50; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1));
  Pass([&] { return StatusOf(1).delivered == 50 && StatusOf(0).breaker_open; });
  EXPECT_EQ(StatusOf(0).pending, 4U) << "the other events stay in the log";
  EXPECT_EQ(StatusOf(0).last_error, "connection refused");
  EXPECT_EQ(Stored("dead"), 0);
  // While the breaker is open, each pause allows one attempt.
  const uint64_t before = StatusOf(0).attempts_failed;
  const int64_t from = clock_.MonotonicNs();
  Pass([&] { return clock_.MonotonicNs() - from >= 600 * kNanosPerSecond; }, 5 * kNanosPerSecond);
  EXPECT_LE(StatusOf(0).attempts_failed - before, 21U);
  // After recovery, the webhook gets every event once.
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  Pass([&] { return Stored("dead") == 50; });
  EXPECT_EQ(StatusOf(0).delivered, 50U);
  EXPECT_FALSE(StatusOf(0).breaker_open);
}

TEST_F(WebhookTest, UndeliveredEventsAreSentAfterRestart) {
  transport_.SetScript([](const HttpCall&, size_t n) { return n < 2 ? Reply(200) : Reply(503); });
  Run({Webhook()});
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(MakeEvent(Cat("j", i), "r", 1).id);
    Publish(&log_, MakeEvent(Cat("j", i), "r", 1));
  }
  Pass([&] { return Stored("w") == 2 && transport_.answered() >= 6; });
  notifier_.reset();
  EXPECT_EQ(Stored("w"), 2);
  // Two more events arrive while the notifier is stopped.
  for (int i = 5; i < 7; ++i) {
    ids.push_back(MakeEvent(Cat("j", i), "r", 1).id);
    Publish(&log_, MakeEvent(Cat("j", i), "r", 1));
  }
  const size_t before = transport_.calls().size();
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  Run({Webhook()});
  Pass([&] { return Stored("w") == 7; });
  std::vector<std::string> sent = transport_.Ids();
  sent.erase(sent.begin(), sent.begin() + static_cast<ptrdiff_t>(before));
  EXPECT_THAT(sent, ::testing::ElementsAreArray(ids.begin() + 2, ids.end()));
}

TEST_F(WebhookTest, GoneEndpointIsDisabledPermanently) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(410); });
  Run({Webhook()});
  Publish(&log_, MakeEvent("a", "r", 1));
  Pass([&] { return StatusOf().disabled; });
  Publish(&log_, MakeEvent("b", "r", 1));
  clock_.AwaitWaiters(2);
  EXPECT_EQ(transport_.calls().size(), 1U);
  notifier_.reset();
  Run({Webhook()});
  clock_.AwaitWaiters(2);
  EXPECT_TRUE(StatusOf().disabled);
  EXPECT_EQ(transport_.calls().size(), 1U);
  notifier_.reset();
  // A new generation re-enables the webhook without losing events.
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  WebhookOptions again = Webhook();
  again.generation = 1;
  Run({again});
  transport_.AwaitAnswered(3);
  EXPECT_FALSE(StatusOf().disabled);
}

TEST_F(WebhookTest, RejectedEventMovesToDeadLetters) {
  transport_.SetScript([](const HttpCall& call, size_t) {
    return call.body.find("poison") != std::string::npos ? Reply(422) : Reply(200);
  });
  Run({Webhook()});
  Publish(&log_, MakeEvent("poison", "r", 1));
  Publish(&log_, MakeEvent("fine", "r", 1));
  // The dead-letter topic rejects writes at first, so the event stays in the queue.
  Fail("append", 2, "disk away");
  Pass([&] { return Stored("w") == 2; });
  const std::vector<Record> dead = log_.Records("pitwall.dlq");
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].key, "poison");
  EXPECT_EQ(dead[0].value, cloudevents::EncodeCloudEvent(MakeEvent("poison", "r", 1)));
  EXPECT_THAT(dead[0].headers,
              ElementsAre(std::pair<std::string, std::string>(
                              "reason", "webhook rejected the event: HTTP 422"),
                          std::pair<std::string, std::string>("topic", "pitwall.issues"),
                          std::pair<std::string, std::string>("partition", "0"),
                          std::pair<std::string, std::string>("offset", "0"),
                          std::pair<std::string, std::string>("webhook", "w")));
  EXPECT_EQ(StatusOf().given_up, 1U);
  EXPECT_EQ(StatusOf().delivered, 1U);
}

TEST_F(WebhookTest, DeadLetterTooLargeForLog_DeliveryContinues) {
  transport_.SetScript([](const HttpCall& call, size_t) {
    return call.body.find("poison") != std::string::npos ? Reply(422) : Reply(200);
  });
  Run({Webhook()});
  IssueEvent poison = MakeEvent("poison", "r", 1);
  poison.summary = std::string(5'000, 'x');
  Publish(&log_, poison);
  Publish(&log_, MakeEvent("poison", "r", 2));
  log_.SetLargest(3'000);
  Pass([&] { return Stored("w") == 2; });
  const std::vector<Record> dead = log_.Records("pitwall.dlq");
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_EQ(dead[0].value, "");
  EXPECT_THAT(dead[0].headers, ::testing::Contains(::testing::Key("original_bytes")));
  EXPECT_EQ(StatusOf().given_up, 2U);
}

TEST_F(WebhookTest, GivesUpAfterTimeout) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(503); });
  WebhookOptions webhook = Webhook();
  webhook.retry.give_up_after_ns = 600 * kNanosPerSecond;
  Run({webhook});
  Publish(&log_, MakeEvent("a", "r", 1));
  Pass([&] { return Stored("w") == 1; }, 5 * kNanosPerSecond);
  EXPECT_GE(clock_.MonotonicNs(), 600 * kNanosPerSecond);
  ASSERT_EQ(log_.Records("pitwall.dlq").size(), 1U);
  EXPECT_THAT(log_.Records("pitwall.dlq")[0].headers[0].second,
              HasSubstr("not delivered in time: HTTP 503"));
}

TEST_F(WebhookTest, FromStart_SendsExistingEvents) {
  Publish(&log_, MakeEvent("a", "r", 1));
  WebhookOptions webhook = Webhook();
  webhook.from_start = true;
  Run({webhook});
  transport_.AwaitAnswered(1);
  EXPECT_EQ(transport_.Ids()[0], MakeEvent("a", "r", 1).id);
}

TEST_F(WebhookTest, FailedPositionStoreIsRetried) {
  Run({Webhook()});
  Fail("store_position", 3, "away");
  Publish(&log_, MakeEvent("a", "r", 1));
  Pass([&] { return Stored("w") == 1; });
  EXPECT_EQ(transport_.calls().size(), 1U);
}

TEST_F(WebhookTest, LostHistoryIsCountedAndSkipped) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(503); });
  Run({Webhook()});
  for (int i = 0; i < 10; ++i) Publish(&log_, MakeEvent(Cat("j", i), "r", 1));
  Pass([&] { return transport_.answered() >= 2; });
  notifier_.reset();
  log_.Drop("pitwall.issues", 0, 6);
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  Run({Webhook()});
  Pass([&] { return Stored("w") == 10; });
  EXPECT_EQ(StatusOf().delivered, 4U);
  EXPECT_THAT(exposition_.Render(), HasSubstr("pitwall_webhook_gaps_total{webhook=\"w\"} 1\n"));
}

TEST_F(WebhookTest, SymptomWaitsForCauseToEndAcrossRestart) {
  WebhookOptions all = Webhook("all");
  all.notify_symptoms = true;
  const auto sent_to = [&](std::string_view name) {
    std::vector<std::string> out;
    for (const HttpCall& call : transport_.calls()) {
      if (call.url != Cat("https://", name, ".example/hook")) continue;
      const IssueEvent event = *cloudevents::DecodeCloudEvent(call.body);
      out.push_back(Cat(event.rule, "#", event.sequence));
    }
    return out;
  };
  Run({Webhook(), all});
  const IssueEvent cause = MakeEvent("a", "cause", 1);
  IssueEvent symptom = MakeEvent("a", "symptom", 1);
  IssueEvent other = MakeEvent("a", "other", 1);
  symptom.root_cause = other.root_cause = cause.id;
  Publish(&log_, cause);
  Publish(&log_, symptom);
  Publish(&log_, other);
  Pass([&] { return Stored("w") == 3 && Stored("all") == 3; });
  EXPECT_THAT(sent_to("w"), ElementsAre("cause#1"));
  EXPECT_THAT(exposition_.Render(),
              HasSubstr("pitwall_webhook_suppressed_total{webhook=\"w\"} 2\n"));
  EXPECT_THAT(exposition_.Render(),
              HasSubstr("pitwall_webhook_withheld_issues{webhook=\"w\"} 2\n"));

  notifier_.reset();
  Run({Webhook(), all});
  Publish(&log_, MakeEvent("a", "other", 2, EventType::kIssueResolved));
  Publish(&log_, MakeEvent("a", "cause", 3, EventType::kIssueResolved));
  Pass([&] { return Stored("w") == 5 && Stored("all") == 5; });
  EXPECT_THAT(sent_to("w"), ElementsAre("cause#1", "cause#3", "symptom#1"));
  EXPECT_THAT(sent_to("all"), ElementsAre("cause#1", "symptom#1", "other#1", "other#2", "cause#3"));
  notifier_.reset();
  Run({Webhook(), all});
  Publish(&log_, MakeEvent("a", "symptom", 4, EventType::kIssueResolved));
  Pass([&] { return Stored("w") == 6 && Stored("all") == 6; });
  EXPECT_THAT(sent_to("w"), ElementsAre("cause#1", "cause#3", "symptom#1", "symptom#4"));
}

// The webhook gets one notice when the incident is found and one notice when the incident has
// ended, despite failures in between and restarts at any point.
TEST_F(WebhookTest, IncidentIsFoundAndEndedOnceAcrossRestarts) {
  WebhookOptions webhook = Webhook();
  webhook.notify = NotifyMode::kIncidents;
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(503); });
  Run({webhook});
  const IssueEvent root = MakeEvent("a", "r0", 1, EventType::kIssueFound, "critical");
  std::vector<std::string> ids;
  for (int i = 0; i < 25; ++i) {
    IssueEvent e = MakeEvent("a", Cat("r", i), 1, EventType::kIssueFound, "critical");
    e.incident = root.id;
    if (i > 0) e.root_cause = root.id;
    ids.push_back(e.id);
    Publish(&log_, e);
  }
  Publish(&log_, MakeEvent("b", "r", 1, EventType::kIssueFound, "warning", 2000));
  Pass([&] { return transport_.answered() >= 3; });
  notifier_.reset();
  EXPECT_EQ(Stored("w"), 0);
  const size_t before = transport_.calls().size();
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  Run({webhook});
  Pass([&] { return Stored("w") == 26; });
  for (int i = 0; i < 25; ++i) {
    IssueEvent e = MakeEvent("a", Cat("r", i), 2, EventType::kIssueResolved, "critical");
    e.incident = root.id;
    Publish(&log_, e);
    if (i % 10 != 9) continue;
    const int64_t want = 26 + i + 1;
    Pass([&] { return Stored("w") == want; });
    notifier_.reset();
    Run({webhook});
  }
  Pass([&] { return Stored("w") == 51; });
  std::vector<std::string> types;
  std::string ended;
  const std::vector<HttpCall> calls = transport_.calls();
  for (size_t i = before; i < calls.size(); ++i) {
    if (calls[i].body.find(root.id) == std::string::npos) continue;
    ended = calls[i].body;
    const size_t type = ended.find("io.pitwall.incident.");
    types.push_back(ended.substr(type + 20, ended.find('"', type) - type - 20));
  }
  EXPECT_THAT(types, ElementsAre("found", "ended"));
  for (const std::string& id : ids) EXPECT_THAT(ended, HasSubstr(id));
}

TEST_F(WebhookTest, ReceiverWithoutFoundEvents_GetsSymptoms) {
  WebhookOptions updates = Webhook();
  updates.types = {EventType::kIssueUpdated};
  Run({updates});
  const IssueEvent cause = MakeEvent("a", "cause", 1);
  IssueEvent symptom = MakeEvent("a", "symptom", 2, EventType::kIssueUpdated);
  symptom.root_cause = cause.id;
  Publish(&log_, cause);
  Publish(&log_, symptom);
  Pass([&] { return Stored("w") == 2; });
  EXPECT_EQ(transport_.calls().size(), 1U);
}

TEST_F(WebhookTest, StopCancelsCallInFlight) {
  std::atomic<bool> inside{false};
  transport_.SetScript([&](const HttpCall& call, size_t) -> StatusOr<HttpReply> {
    inside = true;
    while (!call.cancel->load()) std::this_thread::yield();
    return Cancelled("cancelled");
  });
  Run({Webhook()});
  Publish(&log_, MakeEvent("a", "r", 1));
  while (!inside) std::this_thread::yield();
  notifier_->Stop();
  EXPECT_EQ(Stored("w"), 0);
  EXPECT_EQ(StatusOf().attempts_failed, 0U);
}

}  // namespace
}  // namespace pitwall::notifier
