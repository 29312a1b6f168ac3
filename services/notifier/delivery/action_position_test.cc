#include "services/notifier/delivery/action_position.h"

#include <gtest/gtest.h>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class ActionPositionTest : public ::testing::Test {
 protected:
  ActionPositionTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.actions", {1, false, -1}).ok());
    AppendAction("a");
    EXPECT_TRUE(acted_.ReadAll().ok());
  }

  void AppendAction(std::string_view issue) {
    const IssueEvent event = MakeEvent("job", "r", 1);
    ActionEvent action;
    action.issue = issue;
    action.issue_event = event.id;
    action.job = event.job;
    action.rule = event.rule;
    action.severity = event.severity;
    action.time = event.time;
    action.id = MakeActionId(action);
    OutgoingRecord record;
    record.topic = "pitwall.actions";
    record.partition = 0;
    record.key = action.job;
    record.value = cloudevents::EncodeCloudEvent(action);
    ASSERT_TRUE((*log_.OpenAppender())->Append({record}).ok());
  }
  // Returns the issues of the actions that Advance passes on. Accepts at most `limit` actions.
  std::vector<std::string> Advance(size_t limit = SIZE_MAX) {
    std::vector<std::string> issues;
    position_.Advance([&](const IssueActions::Act& act) {
      if (issues.size() >= limit) return false;
      issues.push_back(act.action->issue);
      return true;
    });
    return issues;
  }
  int64_t Stored() {
    const auto committed = log_.Committed("group", {"pitwall.actions", 0});
    return committed.ok() && *committed ? (*committed)->offset : -1;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  IssueActions acted_{&clock_, &log_, "pitwall.actions", 10};
  ReceiverReport report_{"w", std::make_shared<WebhookReceiver>(WebhookTarget())};
  ActionPosition position_{&clock_, &log_, &acted_, "group", &report_};
};

TEST_F(ActionPositionTest, StartsAtEnd) {
  ASSERT_TRUE(position_.Open(false).ok());
  EXPECT_EQ(Stored(), 1);
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kStored);
  EXPECT_TRUE(position_.IsPast(acted_.Since({}).at(0)));
  AppendAction("b");
  ASSERT_TRUE(acted_.ReadNew().ok());
  EXPECT_EQ(Advance(), std::vector<std::string>{"b"});
  EXPECT_TRUE(Advance().empty());
}

TEST_F(ActionPositionTest, RefusedActionIsRetried) {
  ASSERT_TRUE(position_.Open(true).ok());
  AppendAction("b");
  ASSERT_TRUE(acted_.ReadNew().ok());
  EXPECT_EQ(Advance(1), std::vector<std::string>{"a"});
  EXPECT_EQ(Advance(), std::vector<std::string>{"b"});
}

TEST_F(ActionPositionTest, FailedStoreIsRetriedAfterInterval) {
  ASSERT_TRUE(position_.Open(true).ok());
  EXPECT_EQ(Advance().size(), 1U);
  log_.SetWriteFault([](std::string_view) { return Unavailable("down"); });
  position_.StoreIfDue(0);
  EXPECT_EQ(Stored(), 0);
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kMoved);
  log_.SetWriteFault(nullptr);
  position_.StoreIfDue(0);
  EXPECT_EQ(Stored(), 0);
  position_.StoreIfDue(position_.NextStoreNs());
  EXPECT_EQ(Stored(), 1);
  EXPECT_EQ(position_.NextStoreNs(), INT64_MAX);
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kStored);
}

TEST_F(ActionPositionTest, FailedFirstStoreFailsOpen) {
  log_.SetWriteFault([](std::string_view) { return Unavailable("down"); });
  EXPECT_FALSE(position_.Open(true).ok());
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kMoved);
  log_.SetWriteFault(nullptr);
  ASSERT_TRUE(position_.Open(true).ok());
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kStored);
}

TEST_F(ActionPositionTest, RestartContinuesAtStoredPosition) {
  AppendAction("b");
  ASSERT_TRUE(acted_.ReadNew().ok());
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.actions", 0}, {1, ""}).ok());
  ASSERT_TRUE(position_.Open(false).ok());
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kStored);
  EXPECT_EQ(position_.NextStoreNs(), INT64_MAX);
  EXPECT_EQ(Advance(), std::vector<std::string>{"b"});
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kMoved);
  position_.StoreIfDue(0);
  EXPECT_EQ(Stored(), 2);
}

TEST_F(ActionPositionTest, TopicReplacedWhileStopped_IsReadFromStart) {
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.actions", 0}, {7, ""}).ok());
  ASSERT_TRUE(position_.Open(false).ok());
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kReplaced);
  EXPECT_FALSE(report_.Health(clock_.MonotonicNs()).ok());
  position_.StoreIfDue(0);
  EXPECT_EQ(Stored(), 7);  // stored once an action was read
  EXPECT_EQ(Advance(), std::vector<std::string>{"a"});
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kMoved);
  position_.StoreIfDue(0);
  EXPECT_EQ(Stored(), 1);
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kStored);
}

TEST_F(ActionPositionTest, TopicReplacedWhileRunning_IsReadFromStart) {
  AppendAction("b");
  ASSERT_TRUE(acted_.ReadNew().ok());
  ASSERT_TRUE(position_.Open(false).ok());
  EXPECT_EQ(Stored(), 2);
  log_.Recreate("pitwall.actions");
  AppendAction("c");
  clock_.Advance(kNanosPerSecond);
  ASSERT_TRUE(acted_.ReadNew().ok());
  ASSERT_TRUE(acted_.ReadNew().ok());
  EXPECT_EQ(Advance(), std::vector<std::string>{"c"});
  EXPECT_EQ(position_.StateOf(0), ActionPositionState::kMoved);
  position_.StoreIfDue(position_.NextStoreNs());
  EXPECT_EQ(Stored(), 1);
}

}  // namespace
}  // namespace pitwall::notifier
