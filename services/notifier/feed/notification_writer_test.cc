// Tests for delivery records. Each notification has one record per receiver, not one per attempt.
#include "services/notifier/feed/notification_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "services/codec/cloudevents/notification_event.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NotificationRecordsTest : public ::testing::Test {
 protected:
  NotificationRecordsTest() {
    for (const char* topic : {"pitwall.issues", "pitwall.dlq", "pitwall.notifications"})
      EXPECT_TRUE(log_.EnsureTopic(topic, {1, false, -1}).ok());
  }

  void Run() {
    NotifierOptions options;
    WebhookOptions webhook;
    webhook.name = "team";
    webhook.url = "https://team.example/hook";
    webhook.jitter_seed = 7;
    options.receivers.push_back(ToReceiver(webhook));
    auto notifier = Notifier::Make(&clock_, &log_, {.http = &transport_}, std::move(options));
    ASSERT_TRUE(notifier.ok()) << notifier.status();
    notifier_ = *std::move(notifier);
    ASSERT_TRUE(notifier_->Start().ok());
  }
  void Pass(const std::function<bool()>& done) {
    for (int i = 0; !done(); ++i) {
      ASSERT_LT(i, 100'000);
      clock_.AwaitWaiters(2);
      if (done()) break;
      clock_.Advance(kNanosPerSecond / 2);
    }
  }
  std::vector<NotificationRecord> Recorded() {
    std::vector<NotificationRecord> out;
    for (const Record& record : log_.Records("pitwall.notifications")) {
      auto decoded = cloudevents::DecodeNotification(record.value);
      EXPECT_TRUE(decoded.ok()) << decoded.status();
      if (decoded.ok()) out.push_back(*std::move(decoded));
    }
    return out;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  ScriptedTransport transport_{[](const HttpCall&, size_t) { return Reply(200); }};
  std::unique_ptr<Notifier> notifier_;
};

TEST_F(NotificationRecordsTest, RetriedNotification_HasOneRecord) {
  transport_.SetScript(
      [](const HttpCall&, size_t number) { return Reply(number < 3 ? 503 : 200); });
  Run();
  const IssueEvent event = MakeEvent("a", "r", 1);
  Publish(&log_, event);
  Pass([&] { return !Recorded().empty(); });
  const std::vector<NotificationRecord> records = Recorded();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(transport_.answered(), 4U);
  EXPECT_EQ(records[0].job, "a");
  EXPECT_THAT(records[0].issues, ElementsAre(IssueId(event)));
  EXPECT_EQ(records[0].receiver, "team");
  EXPECT_EQ(records[0].kind, "webhook");
  EXPECT_EQ(records[0].what, "found");
  EXPECT_TRUE(records[0].taken);
  EXPECT_EQ(records[0].time.ns(), clock_.WallNs());
}

TEST_F(NotificationRecordsTest, UndeliveredNotification_IsRecordedWithError) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(400); });
  Run();
  Publish(&log_, MakeEvent("a", "r", 1));
  Pass([&] { return !Recorded().empty(); });
  ASSERT_THAT(Recorded(), SizeIs(1));
  EXPECT_FALSE(Recorded()[0].taken);
  EXPECT_THAT(Recorded()[0].error, HasSubstr("400"));
}

TEST_F(NotificationRecordsTest, LogUnavailable_RecordsAreAppendedLater) {
  auto left = std::make_shared<std::atomic<int>>(0);
  log_.SetWriteFault([left](std::string_view what) {
    return what == "append" && *left > 0 && (*left)-- > 0 ? Unavailable("away") : OkStatus();
  });
  transport_.SetScript([left](const HttpCall&, size_t) {
    *left = 3;  // fail immediately after the reply
    return Reply(200);
  });
  Run();
  Publish(&log_, MakeEvent("a", "r", 1));
  Pass([&] { return !Recorded().empty(); });
  EXPECT_THAT(Recorded(), SizeIs(1));
  EXPECT_EQ(*left, 0);
}

TEST(NotificationRecordsOf, IncidentOfSeveralJobs_HasRecordPerJob) {
  auto notice = std::make_shared<Notice>();
  notice->id = "n";
  notice->kind = EventType::kIssueResolved;
  for (const char* job : {"a", "b", "a"}) {
    auto event = std::make_shared<IssueEvent>(MakeEvent(job, "r", 1));
    notice->issues.push_back({Cat(job, notice->issues.size()), event});
  }
  FeedItem item;
  item.event = notice->issues[0].event;
  item.notice = notice;
  const std::vector<NotificationRecord> records =
      NotificationRecordsOf(item, "team", "slack", "", 7);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].issues, ElementsAre("a0", "a2"));
  EXPECT_THAT(records[1].issues, ElementsAre("b1"));
  EXPECT_EQ(records[0].what, "ended");
  EXPECT_NE(records[0].id, records[1].id);
  // If a notification is resent after a crash, the new record has the same ID. A record of a
  // failure has a different ID.
  EXPECT_EQ(NotificationRecordsOf(item, "team", "slack", "", 9)[0].id, records[0].id);
  EXPECT_NE(NotificationRecordsOf(item, "team", "slack", "status 404", 7)[0].id, records[0].id);
  item.states = std::make_shared<std::vector<IssueEventPtr>>();
  EXPECT_THAT(NotificationRecordsOf(item, "am", "alertmanager", "", 7),
              IsEmpty());  // reminders have no record
}

// An executor action on an issue has a record that is separate from the issue's record. A request
// has no issue.
TEST(NotificationRecordsOf, ExecutorAction_HasSeparateRecord) {
  const auto found = std::make_shared<IssueEvent>(MakeEvent("a", "r", 1));
  auto act = std::make_shared<ActionNotice>();
  act->action.id = "act";
  act->action.job = "a";
  act->action.issue = IssueId(*found);
  act->action.rule = found->rule;
  act->action.type = ActionEventType::kDone;
  FeedItem item;
  item.event = found;
  const std::string found_id = NotificationRecordsOf(item, "team", "slack", "", 7)[0].id;
  item.action = act;
  const std::vector<NotificationRecord> records =
      NotificationRecordsOf(item, "team", "slack", "", 7);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].what, "acted on");
  EXPECT_THAT(records[0].issues, ElementsAre(IssueId(*found)));
  EXPECT_NE(records[0].id, found_id);
  act->action.type = ActionEventType::kRefused;
  EXPECT_EQ(NotificationRecordsOf(item, "team", "slack", "", 7)[0].what, "not acted on");
  act->action.rule = kStopRequestRule;
  EXPECT_THAT(NotificationRecordsOf(item, "team", "slack", "", 7), IsEmpty());
}

TEST(NotificationWriter, LogRejectsRecord_AppendsOthers) {
  fakes::FakeClock clock;
  fakes::MemoryLog log(&clock);
  ASSERT_TRUE(log.EnsureTopic("pitwall.notifications", {1, false, -1}).ok());
  log.SetLargest(800);
  self_metrics::Counter lost;
  NotificationWriter writer(&log, &lost);
  NotificationRecord small, large;
  small.job = "small";
  large.job = std::string(1'000, 'x');
  writer.Add({small, large, small});
  EXPECT_TRUE(writer.Flush().ok());
  EXPECT_EQ(writer.waiting(), 0u);
  EXPECT_THAT(log.Records("pitwall.notifications"), SizeIs(2));
  EXPECT_EQ(lost.value(), 1u);
}

TEST(NotificationWriter, WaitingRecords_AreBounded) {
  fakes::FakeClock clock;
  fakes::MemoryLog log{&clock};
  self_metrics::Counter lost;
  NotificationWriter writer(&log, &lost);
  for (size_t i = 0; i < NotificationWriter::kMaxWaiting + 5; ++i)
    writer.Add({{.id = "x", .job = "a", .receiver = "team"}});
  EXPECT_EQ(writer.waiting(), NotificationWriter::kMaxWaiting);
  EXPECT_EQ(lost.value(), 5U);
  EXPECT_TRUE(writer.Flush().ok());  // succeeds even though the topic does not exist
  EXPECT_EQ(writer.waiting(), 0U);
}

}  // namespace
}  // namespace pitwall::notifier
