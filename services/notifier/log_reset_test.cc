// Tests for topics that were recreated or truncated after positions had been stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/base/time.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "services/self_metrics/exposition.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"
#include "tests/fakes/replaced_log.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;

class LogResetTest : public ::testing::Test {
 protected:
  LogResetTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {1, false, -1}).ok());
    EXPECT_TRUE(log_.EnsureTopic("pitwall.dlq", {1, false, -1}).ok());
  }
  ~LogResetTest() override { Stop(); }

  void Run() { Run(&log_); }
  void Run(Log* log) {
    NotifierOptions options;
    WebhookOptions webhook;
    webhook.name = "w";
    webhook.url = "https://w.example/hook";
    webhook.jitter_seed = 7;
    options.receivers = {ToReceiver(webhook)};
    auto notifier =
        Notifier::Make(&clock_, log, {.http = &transport_}, std::move(options), &exposition_);
    ASSERT_TRUE(notifier.ok()) << notifier.status();
    notifier_ = *std::move(notifier);
    const Status started = notifier_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void Stop() { notifier_.reset(); }
  void Pass(const std::function<bool()>& done) {
    for (int i = 0; !done(); ++i) {
      ASSERT_LT(i, 500);
      clock_.AwaitWaiters(2);
      if (done()) break;
      clock_.Advance(kNanosPerSecond / 2);
    }
  }
  // Advances the clock by `seconds` in half-second steps.
  void PassTime(int seconds) {
    for (int i = 0; i < 2 * seconds; ++i) {
      clock_.AwaitWaiters(2);
      clock_.Advance(kNanosPerSecond / 2);
    }
    clock_.AwaitWaiters(2);
  }
  void PublishJobs(std::string_view name, int from, int count) {
    for (int i = from; i < from + count; ++i) {
      clock_.Advance(kNanosPerMilli);
      Publish(&log_, MakeEvent(Cat(name, i), "r", 1));
    }
  }
  size_t Sent(std::string_view job) {
    size_t count = 0;
    for (const HttpCall& call : transport_.calls())
      count += call.body.find(Cat("\"", job, "\"")) != std::string::npos ? 1 : 0;
    return count;
  }
  int64_t Stored() {
    const auto committed = log_.Committed("pitwall-webhook-w", {"pitwall.issues", 0});
    return committed.ok() && *committed ? (*committed)->offset : -1;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  fakes::ReplacedLog replaced_log_{&log_};
  ScriptedTransport transport_{[](const HttpCall&, size_t) { return Reply(200); }};
  self_metrics::Exposition exposition_;
  std::unique_ptr<Notifier> notifier_;
};

TEST_F(LogResetTest, TopicRecreatedWhileRunning_IsReadFromStart) {
  Run();
  PublishJobs("old", 0, 5);
  Pass([&] { return Stored() == 5; });
  log_.Recreate("pitwall.issues");
  PassTime(2);
  PublishJobs("new", 0, 2);
  Pass([&] { return transport_.calls().size() >= 7; });
  EXPECT_EQ(Sent("new0"), 1U);
  EXPECT_EQ(Sent("new1"), 1U);
  EXPECT_EQ(Sent("old4"), 1U);
  EXPECT_THAT(std::string(notifier_->Health().message()), HasSubstr("log_truncated"));
  EXPECT_THAT(exposition_.Render(),
              HasSubstr("pitwall_webhook_log_resets_total{webhook=\"w\"} 1\n"));
  EXPECT_THAT(exposition_.Render(), HasSubstr("pitwall_notifier_log_resets_total 1\n"));
  Pass([&] { return Stored() == 2; });
  PassTime(301);
  EXPECT_TRUE(notifier_->Health().ok()) << notifier_->Health();
}

TEST_F(LogResetTest, RequestFailsAfterReaderMovedBack_ResetIsDetected) {
  Run(&replaced_log_);
  PublishJobs("old", 0, 5);
  Pass([&] { return Stored() == 5; });
  log_.Recreate("pitwall.issues");
  PassTime(4);
  EXPECT_THAT(exposition_.Render(), HasSubstr("pitwall_notifier_log_resets_total 1\n"));
  PublishJobs("new", 0, 1);
  Pass([&] { return Sent("new0") == 1; });
}

TEST_F(LogResetTest, TopicRecreatedWhileStopped_IsReadFromStart) {
  Run();
  PublishJobs("old", 0, 5);
  Pass([&] { return Stored() == 5; });
  Stop();
  log_.Recreate("pitwall.issues");
  PublishJobs("new", 0, 3);
  Run();
  Pass([&] { return transport_.calls().size() >= 8; });
  EXPECT_EQ(Sent("new0") + Sent("new1") + Sent("new2"), 3U);
  EXPECT_THAT(std::string(notifier_->Health().message()), HasSubstr("log_truncated"));
}

TEST_F(LogResetTest, RecreatedTopicBeyondOldPosition_IsDetectedByRecords) {
  Run();
  PublishJobs("old", 0, 5);
  Pass([&] { return Stored() == 5; });
  Stop();
  log_.Recreate("pitwall.issues");
  PublishJobs("new", 0, 8);
  Run();
  Pass([&] { return transport_.calls().size() >= 13; });
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Sent(Cat("new", i)), 1U) << i;
}

TEST_F(LogResetTest, RemainderOfTruncatedTopic_IsNotResent) {
  Run();
  PublishJobs("old", 0, 5);
  Pass([&] { return Stored() == 5; });
  Stop();
  const std::vector<Record> records = log_.Records("pitwall.issues");
  log_.Cut("pitwall.issues", 0, 3);
  PublishJobs("new", 0, 1);
  Run();
  Pass([&] { return Sent("new0") == 1; });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Sent(Cat("old", i)), 1U) << i;
}

TEST_F(LogResetTest, EventsReadBeforeReset_AreStillDelivered) {
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(503); });
  Run();
  PublishJobs("old", 0, 5);
  Pass([&] { return transport_.answered() >= 2; });
  log_.Recreate("pitwall.issues");
  PassTime(2);
  PublishJobs("new", 0, 1);
  transport_.SetScript([](const HttpCall&, size_t) { return Reply(200); });
  Pass([&] { return notifier_->Receivers()[0].delivered >= 6; });
  Pass([&] { return Stored() == 1; });
}

TEST_F(LogResetTest, WatcherOfReplacedLogMustRelist) {
  Run();
  PublishJobs("old", 0, 5);
  PassTime(2);
  auto watch = notifier_->WatchIssues({});
  ASSERT_TRUE(watch.ok());
  log_.Recreate("pitwall.issues");
  PassTime(2);
  const auto batch = (*watch)->Next(10, Duration::Zero());
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kOutOfRange) << batch.status();
  watch->reset();
  auto fresh = notifier_->WatchIssues({});
  ASSERT_TRUE(fresh.ok());
  PublishJobs("new", 0, 1);
  PassTime(2);
  const auto events = (*fresh)->Next(10, Duration::Zero());
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->events.size(), 1U);
}

}  // namespace
}  // namespace pitwall::notifier
