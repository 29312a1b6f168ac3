#include "services/notifier/policies/notification_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::notifier {
namespace {

FeedItem PolicyItem(int64_t offset, EventType type) {
  auto event = std::make_shared<IssueEvent>();
  event->type = type;
  event->alert = "A";
  return {.partition = 1, .offset = offset, .event = std::move(event)};
}

TEST(EveryEvent, SendsEachEventImmediatelyWithoutState) {
  EveryEvent policy;
  EXPECT_FALSE(policy.keeps_state());
  std::vector<FeedItem> send;
  policy.Feed(PolicyItem(3, EventType::kIssueFound), &send);
  policy.Feed(PolicyItem(4, EventType::kRuleStatus), &send);
  ASSERT_EQ(send.size(), 2U);
  EXPECT_EQ(send[0].offset, 3);
  EXPECT_EQ(send[1].offset, 4);
  policy.Settle(1, &send);
  policy.SendDue(1, NotificationPolicy::kNever, &send);
  EXPECT_EQ(send.size(), 2U);
  EXPECT_EQ(policy.UndecidedFrom(1), NotificationPolicy::kNever);
  EXPECT_EQ(policy.DueNs(1), NotificationPolicy::kNever);
  EXPECT_EQ(policy.suppressed(), 0U);
  EXPECT_EQ(policy.withheld(), 0U);
}

TEST(EveryEvent, Act_SendsIssueExcludedByFilters) {
  EveryEvent policy;
  NotificationPolicy::Acted acted{
      .issue = "i", .partition = 1, .offset = 9, .events = {}, .wanted = false};
  std::vector<FeedItem> send;
  policy.OnActed(acted, &send);
  EXPECT_TRUE(send.empty()) << "the issue is unknown";
  acted.events = {PolicyItem(1, EventType::kIssueFound).event,
                  PolicyItem(2, EventType::kIssueUpdated).event};
  policy.OnActed(acted, &send);
  ASSERT_EQ(send.size(), 1U);
  EXPECT_EQ(send[0].offset, 9);
  acted.events.push_back(PolicyItem(3, EventType::kIssueResolved).event);
  policy.OnActed(acted, &send);
  ASSERT_EQ(send.size(), 3U);
  EXPECT_EQ(send[2].event->type, EventType::kIssueResolved);
  acted.wanted = true;
  policy.OnActed(acted, &send);
  EXPECT_EQ(send.size(), 3U) << "the filters pass the issue";
}

}  // namespace
}  // namespace pitwall::notifier
