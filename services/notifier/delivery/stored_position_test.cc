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
  EXPECT_EQ(position.NextStoreNs({1}), INT64_MAX);
  EXPECT_EQ(position.NextStoreNs({2}), StoredPosition::kStoreIntervalNs);
  position.StoreIfDue({2}, StoredPosition::kStoreIntervalNs, false);
  EXPECT_EQ(Stored().offset, 2);
}

TEST_F(StoredPositionTest, DisabledMarkSurvivesRestart) {
  StoredPosition first = Make();
  ASSERT_TRUE(first.Open({1}).ok());
  first.Disable();
  EXPECT_TRUE(first.StoreDisabledMark({1}));
  EXPECT_EQ(Stored().metadata, "disabled mark");
  ReceiverReport report("w", std::make_shared<WebhookReceiver>(WebhookTarget()));
  StoredPosition second(&clock_, &log_, "pitwall.issues", "group", "disabled mark", &report);
  ASSERT_TRUE(second.Open({3}).ok());
  EXPECT_TRUE(report.disabled());
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

TEST_F(StoredPositionTest, ReplacedLogIsReadFromStart) {
  ASSERT_TRUE(Make().Open({3}).ok());
  log_.Recreate("pitwall.issues");
  const StatusOr<StartPosition> start = Make().Open({0});
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->positions, Positions{0});
  EXPECT_EQ(start->is_new, std::vector<uint8_t>{0});
  EXPECT_FALSE(report_.Health(clock_.MonotonicNs()).ok());
}

}  // namespace
}  // namespace pitwall::notifier
