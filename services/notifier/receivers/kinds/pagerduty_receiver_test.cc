#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/codec/json/json_reader.h"
#include "services/notifier/receivers/testing/configured_receiver.h"
#include "services/notifier/receivers/testing/issue_events.h"

namespace pitwall::notifier {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr int64_t kS = kNanosPerSecond;

class PagerDutyTest : public ::testing::Test {
 protected:
  // Returns the call for an event to a receiver with the given keys.
  HttpCall CallOf(const IssueEvent& event, const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> given = {{"name", "pager"}, {"routing_key", "env:KEY"}};
    given.insert(more.begin(), more.end());
    const auto made = Configured(PagerDutyKind(), given);
    EXPECT_TRUE(made.ok()) << made.status();
    receiver_ = made->front().receiver;
    delivery_ = made->front().delivery;
    const auto call = receiver_->Render({.event = &event, .wall_ns = 1'000'020 * kS});
    EXPECT_TRUE(call.ok()) << call.status();
    return std::get<HttpCall>(*call);
  }
  static codec::JsonReader Read(const HttpCall& call) {
    const auto read = codec::JsonReader::Parse(call.body, 1'000'000);
    EXPECT_TRUE(read.ok()) << read.status();
    return *read;
  }
  static std::string ActionOf(const HttpCall& call) { return Read(call).String("event_action"); }

  std::shared_ptr<const Receiver> receiver_;
  DeliveryOptions delivery_;
};

TEST_F(PagerDutyTest, FoundIncidentTriggersAlert) {
  const HttpCall call = CallOf(Found());
  EXPECT_EQ(call.url, "https://events.pagerduty.com/v2/enqueue");
  const codec::JsonReader event = Read(call);
  EXPECT_EQ(event.String("routing_key"), "secret of env:KEY");
  EXPECT_EQ(event.String("event_action"), "trigger");
  EXPECT_EQ(event.String("dedup_key"), "pitwall-abcdef0123456789");
  EXPECT_THAT(event.String("client_url"), HasSubstr("https://pitwall.invalid/jobs/u0:llm:1"));
  const codec::JsonReader payload = event.Object("payload");
  EXPECT_THAT(payload.String("summary"), HasSubstr("NonFinite"));
  EXPECT_EQ(payload.String("severity"), "critical");
  EXPECT_EQ(payload.String("source"), "n1");
  EXPECT_EQ(payload.String("timestamp"), "1970-01-12T13:46:40Z");
  EXPECT_EQ(payload.String("group"), "llm");
  EXPECT_EQ(payload.String("class"), "NonFinite");
  const codec::JsonReader details = payload.Object("custom_details");
  EXPECT_EQ(details.String("rank"), "3");
  EXPECT_EQ(details.String("step"), "120");
  EXPECT_EQ(details.String("suggestion"), "lower the learning rate");
  EXPECT_TRUE(event.status().ok()) << event.status();
}

TEST_F(PagerDutyTest, EndResolvesSameAlert) {
  const HttpCall cleared = CallOf(Ended(EndReason::kCleared));
  EXPECT_EQ(ActionOf(cleared), "resolve");
  EXPECT_EQ(Read(cleared).String("dedup_key"), Read(CallOf(Found())).String("dedup_key"));
  EXPECT_EQ(ActionOf(CallOf(Ended(EndReason::kJobEnded))), "resolve");
}

TEST_F(PagerDutyTest, WithoutResolveEnded_OnlyClearedIncidentIsResolved) {
  const std::map<std::string, std::string> keep = {{"resolve_ended", "false"}};
  EXPECT_EQ(ActionOf(CallOf(Ended(EndReason::kCleared), keep)), "resolve");
  const HttpCall ended = CallOf(Ended(EndReason::kJobEnded), keep);
  EXPECT_EQ(ActionOf(ended), "trigger");
  EXPECT_EQ(Read(ended).Object("payload").Object("custom_details").String("ended"),
            "ended: job_ended (failed)");
}

TEST_F(PagerDutyTest, TextsStayWithinLimits) {
  IssueEvent event = Found();
  event.summary = std::string(100'000, '"') + "\n\x01\xff";
  event.suggestion = std::string(100'000, '\\');
  event.job_name = std::string(100'000, 'j');
  event.severity = "page";
  const HttpCall call = CallOf(event);
  EXPECT_LT(call.body.size(), 64'000u);
  const codec::JsonReader payload = Read(call).Object("payload");
  EXPECT_LE(payload.String("summary").size(), 1'024u);
  EXPECT_EQ(payload.String("severity"), "error");
}

TEST_F(PagerDutyTest, JobChangeIsNotRendered) {
  CallOf(Found());
  IssueEvent job = Found();
  job.type = EventType::kJobChanged;
  job.incident = job.alert = job.rule = job.severity = job.summary = "";
  job.labels = {};
  job.job_change = JobChange::kAttemptBegan;
  EXPECT_TRUE(absl::IsInvalidArgument(receiver_->Render({.event = &job}).status()));
}

TEST_F(PagerDutyTest, KeyIsSecretAndActionsAreNotSent) {
  CallOf(Found(), {{"url", "https://events.eu.pagerduty.com/v2/enqueue"}});
  EXPECT_EQ(receiver_->target(), "https://events.eu.pagerduty.com/v2/enqueue");
  EXPECT_THAT(receiver_->identity(), Not(HasSubstr("secret")));
  EXPECT_EQ(delivery_.actions, ActionFilter::kNone);
  GivenKeys keys({{"name", "pager"}, {"routing_key", "R0123"}});
  PagerDutyKind().settings()->Keys(keys);
  EXPECT_THAT(keys.problems, Contains(HasSubstr("must be the location of a secret")));
  EXPECT_THAT(keys.keys, Not(Contains("actions")));
}

TEST_F(PagerDutyTest, RepliesFollowHttpStatus) {
  CallOf(Found());
  const auto verdict = [&](int code) {
    return receiver_->Classify({.code = code, .retry_after = "", .text = "", .refused = {}}).kind;
  };
  EXPECT_EQ(verdict(202), Verdict::Kind::kTaken);
  EXPECT_EQ(verdict(400), Verdict::Kind::kRejected);
  EXPECT_EQ(verdict(429), Verdict::Kind::kThrottled);
  EXPECT_EQ(verdict(500), Verdict::Kind::kFailed);
}

}  // namespace
}  // namespace pitwall::notifier
