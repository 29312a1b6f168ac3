#include "services/notifier/delivery/stored_position.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class StoredPositionTest : public ::testing::Test {
 protected:
  StoredPositionTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {1, false, -1}).ok());
    for (int i = 0; i < 3; ++i) Publish(&log_, MakeEvent(Cat("job", i), "r", 1));
  }

  StoredPosition Make() {
    return {&clock_, &log_, "pitwall.issues", "group", "disabled mark", &report_};
  }
  CommittedOffset Stored() {
    const auto committed = log_.Committed("group", {"pitwall.issues", 0});
    return committed.ok() && *committed ? **committed : CommittedOffset{-1, ""};
  }
  static FeedItem ItemAt(int64_t offset) {
    FeedItem item;
    item.offset = offset;
    item.append_time = AppendTime::FromNs(5);
    return item;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  ReceiverReport report_{"w", std::make_shared<WebhookReceiver>(WebhookTarget())};
};

TEST_F(StoredPositionTest, OpenStoresFirstPosition) {
  StoredPosition position = Make();
  const StatusOr<StartPosition> start = position.Open({2});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{2});
  EXPECT_EQ(start->is_new, std::vector<uint8_t>{1});
  EXPECT_EQ(Stored().offset, 2);
  EXPECT_EQ(Stored().metadata, "");
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kNone);
}

TEST_F(StoredPositionTest, StoresPositionAndMarkOnceIdleOrAfterInterval) {
  StoredPosition position = Make();
  ASSERT_TRUE(position.Open({0}).ok());
  position.StoreIfDue({0}, 0, true);
  position.AddMark(ItemAt(0));
  position.StoreIfDue({1}, 0, true);
  EXPECT_EQ(Stored().offset, 0);
  position.RequestStore();
  position.StoreIfDue({1}, 0, false);
  EXPECT_EQ(Stored().offset, 0);
  position.StoreIfDue({1}, 0, true);
  EXPECT_EQ(Stored().offset, 1);
  EXPECT_EQ(Stored().metadata, "mark=0@5");
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kInLog);
  EXPECT_EQ(position.NextStoreNs({1}), INT64_MAX);
  EXPECT_EQ(position.NextStoreNs({2}), StoredPosition::kStoreIntervalNs);
  position.StoreIfDue({2}, StoredPosition::kStoreIntervalNs, false);
  EXPECT_EQ(Stored().offset, 2);
}

TEST_F(StoredPositionTest, DisabledMarkSurvivesRestart) {
  StoredPosition first = Make();
  ASSERT_TRUE(first.Open({1}).ok());
  EXPECT_EQ(first.state(), ReceiverState::kEnabled);
  first.Disable();
  EXPECT_EQ(first.state(), ReceiverState::kDisabling);
  EXPECT_TRUE(first.StoreDisabledMark({1}));
  EXPECT_EQ(first.state(), ReceiverState::kDisabled);
  EXPECT_EQ(Stored().metadata, "disabled mark");
  ReceiverReport report("w", std::make_shared<WebhookReceiver>(WebhookTarget()));
  StoredPosition second(&clock_, &log_, "pitwall.issues", "group", "disabled mark", &report);
  ASSERT_TRUE(second.Open({3}).ok());
  EXPECT_TRUE(report.disabled());
  EXPECT_EQ(second.state(), ReceiverState::kDisabled);
}

TEST_F(StoredPositionTest, OtherDisabledMark_StartsEnabled) {
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.issues", 0}, {2, "another mark"}).ok());
  StoredPosition position = Make();
  const StatusOr<StartPosition> start = position.Open({0});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{2});
  EXPECT_EQ(position.state(), ReceiverState::kEnabled);
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kNone);
  EXPECT_FALSE(report_.disabled());
}

TEST_F(StoredPositionTest, UnstoredDisabledMark_KeepsDisabling) {
  StoredPosition position = Make();
  ASSERT_TRUE(position.Open({1}).ok());
  position.Disable();
  log_.SetWriteFault([](std::string_view) { return Unavailable("down"); });
  EXPECT_FALSE(position.StoreDisabledMark({1}));
  EXPECT_EQ(position.state(), ReceiverState::kDisabling);
  log_.SetWriteFault(nullptr);
  position.StoreIfDue({2}, StoredPosition::kStoreIntervalNs, false);
  EXPECT_EQ(position.state(), ReceiverState::kDisabled);
  EXPECT_EQ(Stored().metadata, "disabled mark");
}

TEST_F(StoredPositionTest, DisabledReceiverOfReplacedLog_StaysDisabled) {
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.issues", 0}, {7, "disabled mark"}).ok());
  StoredPosition position = Make();
  ASSERT_TRUE(position.Open({0}).ok());
  EXPECT_EQ(position.state(), ReceiverState::kDisabled);
  EXPECT_EQ(Stored().offset, 0);
  EXPECT_EQ(Stored().metadata, "disabled mark");
}

TEST_F(StoredPositionTest, FailedStoreIsReportedAndRetried) {
  StoredPosition position = Make();
  ASSERT_TRUE(position.Open({0}).ok());
  log_.SetWriteFault([](std::string_view) { return Unavailable("down"); });
  position.StoreIfChanged({1});
  EXPECT_EQ(report_.status().last_error, "failed to store the position: down");
  log_.SetWriteFault(nullptr);
  position.StoreIfChanged({1});
  EXPECT_EQ(Stored().offset, 1);
}

TEST_F(StoredPositionTest, RestartContinuesAtStoredMark) {
  const AppendTime appended = log_.Records("pitwall.issues")[1].append_time;
  const std::string metadata = EncodeLogMark({1, appended});
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.issues", 0}, {2, metadata}).ok());
  StoredPosition position = Make();
  const StatusOr<StartPosition> start = position.Open({0});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{2});
  EXPECT_EQ(start->is_new, std::vector<uint8_t>{0});
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kInLog);
  EXPECT_EQ(Stored().metadata, metadata);
}

TEST_F(StoredPositionTest, LogReplacedWhileStopped_IsReadFromStart) {
  ASSERT_TRUE(Make().Open({3}).ok());
  log_.Recreate("pitwall.issues");
  const StatusOr<StartPosition> start = Make().Open({0});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{0});
  EXPECT_EQ(start->is_new, std::vector<uint8_t>{0});
  EXPECT_FALSE(report_.Health(clock_.MonotonicNs()).ok());
}

TEST_F(StoredPositionTest, LogReplacedWhileStopped_KeepsAppendTimeOfMark) {
  const int64_t appended_ns = log_.Records("pitwall.issues")[2].append_time.ns();
  ASSERT_TRUE(
      log_.StorePosition("group", {"pitwall.issues", 0}, {7, Cat("mark=6@", appended_ns)}).ok());
  StoredPosition position = Make();
  const StatusOr<StartPosition> start = position.Open({0});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{3});
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kInFormerLog);
  EXPECT_EQ(Stored().offset, 3);
  EXPECT_EQ(Stored().metadata, Cat("mark=-1@", appended_ns));
}

TEST_F(StoredPositionTest, LogReplacedWhileRunning_StoresPositionInNewLog) {
  StoredPosition position = Make();
  ASSERT_TRUE(position.Open({0}).ok());
  position.AddMark(ItemAt(2));
  position.StoreIfChanged({3});
  EXPECT_EQ(Stored().metadata, "mark=2@5");
  log_.Recreate("pitwall.issues");
  const StatusOr<int64_t> from = position.FollowReplaced(0);
  ASSERT_TRUE(from.ok()) << from.status();
  EXPECT_EQ(*from, 0);
  EXPECT_EQ(position.MarkStateOf(0), MarkState::kInFormerLog);
  EXPECT_FALSE(report_.Health(clock_.MonotonicNs()).ok());
  position.StoreIfChanged({0});
  EXPECT_EQ(Stored().offset, 0);
  EXPECT_EQ(Stored().metadata, "mark=-1@5");
}

}  // namespace
}  // namespace pitwall::notifier
