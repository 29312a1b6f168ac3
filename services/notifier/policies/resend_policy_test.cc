// Tests for reminders about open issues and for silences for individual events.
#include "services/notifier/policies/resend_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/notifier/policies/silenced_events.h"
#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

constexpr int64_t kS = kNanosPerSecond;

FeedItem Item(IssueEvent event, int64_t offset) {
  return {.partition = 0,
          .offset = offset,
          .event = std::make_shared<const IssueEvent>(std::move(event))};
}

class ResendPolicyTest : public ::testing::Test {
 protected:
  std::vector<FeedItem> Feed(IssueEvent event) {
    std::vector<FeedItem> sent;
    policy_.Feed(Item(std::move(event), offset_++), &sent);
    return sent;
  }
  // Returns the reminder that is due at `wall_s`, or null.
  std::shared_ptr<const std::vector<IssueEventPtr>> DueAt(int64_t wall_s) {
    std::vector<FeedItem> sent;
    policy_.SendDue(0, wall_s * kS, &sent);
    if (sent.empty()) return nullptr;
    EXPECT_EQ(sent.size(), 1U);
    policy_.ReminderDone();
    return sent[0].states;
  }

  ResendPolicy policy_{std::make_unique<EveryEvent>(),
                       {.hold_ended_ns = 3'600 * kS, .max_issues = 1'000}};
  int64_t offset_ = 0;
};

TEST_F(ResendPolicyTest, RepeatsEndsForLimitedTime) {
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)).size(), 1U);  // found at 1001 s
  EXPECT_EQ(policy_.DueNs(0), 1'061 * kS);
  EXPECT_EQ(DueAt(1'060), nullptr);
  ASSERT_NE(DueAt(1'061), nullptr);
  EXPECT_EQ(policy_.DueNs(0), 1'121 * kS);
  IssueEvent end = MakeEvent("a", "r", 2, EventType::kIssueResolved);  // cleared at 1002 s
  Feed(end);
  const auto last = DueAt(1'200);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ((*last)[0]->type, EventType::kIssueResolved);
  ASSERT_NE(DueAt(1'002 + 15 * 60), nullptr);
  EXPECT_EQ(DueAt(1'002 + 15 * 60 + 61), nullptr);
  EXPECT_EQ(policy_.issues(), 0U);
}

TEST_F(ResendPolicyTest, NewReceiver_GetsOnlyOpenIssues) {
  Feed(MakeEvent("a", "open", 1));
  Feed(MakeEvent("a", "ended", 1));
  IssueEvent end = MakeEvent("a", "ended", 2, EventType::kIssueResolved);
  end.end_reason = EndReason::kJobEnded;
  Feed(end);
  policy_.BeginReceiver(1);
  EXPECT_EQ(policy_.issues(), 2U) << "another partition";
  policy_.BeginReceiver(0);
  const auto states = DueAt(1'100);
  ASSERT_NE(states, nullptr);
  ASSERT_EQ(states->size(), 1U);
  EXPECT_EQ((*states)[0]->rule, "open");
}

TEST_F(ResendPolicyTest, IssueNotCleared_IsRepeatedUntilHoldExpires) {
  Feed(MakeEvent("a", "r", 1));
  IssueEvent end = MakeEvent("a", "r", 2, EventType::kIssueResolved);
  end.end_reason = EndReason::kJobEnded;
  Feed(end);
  ASSERT_NE(DueAt(1'002 + 3'600), nullptr);
  ASSERT_NE(DueAt(1'002 + 3'600 + 15 * 60), nullptr);
  EXPECT_EQ(DueAt(1'002 + 3'600 + 15 * 60 + 61), nullptr);
}

TEST_F(ResendPolicyTest, SendsOneReminderAtATimeWithNewestStates) {
  for (int i = 0; i < 250; ++i) Feed(MakeEvent(Cat("job", i), "r", 1));
  std::vector<FeedItem> sent;
  policy_.SendDue(0, 1'500 * kS, &sent);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].states->size(), 100U);
  policy_.SendDue(0, 1'500 * kS, &sent);
  EXPECT_EQ(sent.size(), 1U);
  Feed(MakeEvent((*sent[0].states)[0]->job, "r", 2, EventType::kIssueResolved));
  EXPECT_EQ(policy_.StatesOf(sent[0])[0]->type, EventType::kIssueResolved);
  policy_.ReminderDone();
  size_t reminded = 100;
  while (const auto states = DueAt(1'500)) reminded += states->size();
  EXPECT_EQ(reminded, 251U);  // includes the issue that ended between two reminders
}

// With an earlier offset, a restart would resume at the start of the oldest open issue.
TEST_F(ResendPolicyTest, ReminderDoesNotHoldBackPosition) {
  Feed(MakeEvent("a", "r", 1));
  for (int i = 0; i < 5; ++i) Feed(MakeEvent(Cat("b", i), "r", 0, EventType::kRuleStatus));
  std::vector<FeedItem> sent;
  policy_.SendDue(0, 2'000 * kS, &sent);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].offset, 5);
}

TEST_F(ResendPolicyTest, DropsOldIssues) {
  for (int i = 0; i < 1'500; ++i) Feed(MakeEvent(Cat("job", i), "r", 1));
  EXPECT_EQ(policy_.issues(), 1'000U);
}

class SilencedEventsTest : public ::testing::Test {
 protected:
  void Silence_(std::string_view matcher, int64_t from_s, int64_t to_s) {
    Silence silence;
    silence.id = "s";
    silence.matchers = *ParseIssueMatchers({std::string(matcher)});
    silence.starts_ns = from_s * kS;
    silence.ends_ns = to_s * kS;
    silences_.Put(std::move(silence));
  }
  std::vector<std::string> Feed(IssueEvent event) {
    std::vector<FeedItem> sent;
    policy_.Feed(Item(std::move(event), offset_++), &sent);
    return Names(sent);
  }
  std::vector<std::string> DueAt(int64_t wall_s) {
    std::vector<FeedItem> sent;
    if (policy_.DueNs(0) <= wall_s * kS) policy_.SendDue(0, wall_s * kS, &sent);
    return Names(sent);
  }
  static std::vector<std::string> Names(const std::vector<FeedItem>& items) {
    std::vector<std::string> names;
    for (const FeedItem& item : items) names.push_back(Cat(item.event->job, item.event->sequence));
    return names;
  }

  SilenceSet silences_;
  SilencedEvents policy_{std::make_unique<EveryEvent>(), &silences_, 1'000};
  int64_t offset_ = 0;
};

using Sent = std::vector<std::string>;

TEST_F(SilencedEventsTest, OpenIssue_IsSentWhenSilenceEnds) {
  Silence_("severity=warning", 900, 1'500);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Sent());
  EXPECT_EQ(Feed(MakeEvent("a", "r", 2, EventType::kIssueUpdated)), Sent());
  EXPECT_EQ(Feed(MakeEvent("b", "r", 1)), Sent());
  EXPECT_EQ(Feed(MakeEvent("b", "r", 2, EventType::kIssueResolved)),
            Sent());  // the issue was never sent
  EXPECT_EQ(Feed(MakeEvent("c", "r", 1, EventType::kIssueFound, "critical")), Sent({"c1"}));
  EXPECT_EQ(policy_.withheld(), 1U);
  EXPECT_EQ(DueAt(1'499), Sent());
  EXPECT_EQ(DueAt(1'500), Sent({"a1", "a2"}));
  EXPECT_EQ(Feed(MakeEvent("a", "r", 3, EventType::kIssueResolved)), Sent({"a3"}));
  EXPECT_EQ(policy_.withheld(), 0U);
}

TEST_F(SilencedEventsTest, EndOfNotifiedIssue_IsSent) {
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Sent({"a1"}));
  Silence_("severity=warning", 1'001, 1'500);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 2, EventType::kIssueUpdated)), Sent());
  EXPECT_EQ(Feed(MakeEvent("a", "r", 3, EventType::kIssueResolved)), Sent({"a3"}));
}

TEST_F(SilencedEventsTest, SilenceExpired_SendsImmediately) {
  Silence_("severity=warning", 900, 9'000);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Sent());
  EXPECT_EQ(DueAt(1'100), Sent());
  Silence_("severity=warning", 900, 1'100);
  EXPECT_EQ(DueAt(1'100), Sent({"a1"}));
}

}  // namespace
}  // namespace pitwall::notifier
