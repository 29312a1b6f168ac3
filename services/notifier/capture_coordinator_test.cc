#include "services/notifier/capture_coordinator.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/io/topics.h"
#include "services/notifier/notifier.h"
#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class CaptureCoordinatorTest : public ::testing::Test {
 protected:
  CaptureCoordinatorTest() {
    for (const std::string_view topic : {kControlTopic, kCapturesTopic})
      EXPECT_TRUE(log_.EnsureTopic(topic, {1, false, -1}).ok());
    appender_ = *log_.OpenAppender();
  }
  void Start(CaptureCoordinatorOptions options = {}) {
    coordinator_ = std::make_unique<CaptureCoordinator>(&clock_, &log_, options);
    ASSERT_TRUE(coordinator_->Start(nullptr).ok());
    clock_.AwaitWaiters(1);
  }
  void Turn() {
    clock_.Advance(kNanosPerSecond);
    clock_.AwaitWaiters(1);
  }
  static IssueEvent Found(std::string_view job, std::string_view rule = "p/g/A") {
    IssueEvent event = MakeEvent(job, rule, 1);
    event.capture = "stacks";
    return event;
  }
  std::vector<CaptureRequest> Requests() {
    std::vector<CaptureRequest> requests;
    for (const Record& record : log_.Records(kControlTopic))
      requests.push_back(*cloudevents::DecodeCaptureRequest(record.value));
    return requests;
  }
  void Answer(std::string_view request, int64_t rank, std::string_view issue = "") {
    RankCapture capture;
    capture.request = request;
    capture.issue = issue;
    capture.job = "j";
    capture.rank = rank;
    ASSERT_TRUE(appender_
                    ->Append({{.topic = std::string(kCapturesTopic),
                               .key = "j",
                               .value = cloudevents::EncodeRankCapture(capture)}})
                    .ok());
    clock_.AwaitWaiters(1);
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::unique_ptr<Appender> appender_;
  std::unique_ptr<CaptureCoordinator> coordinator_;
};

TEST_F(CaptureCoordinatorTest, AppendsRequestsAndReturnsReplies) {
  Start();
  const auto id = coordinator_->RequestCapture(
      {.job = "j",
       .principal = "act",
       .expires = EventTime::FromNs(clock_.WallNs() + 10 * kNanosPerSecond)});
  ASSERT_TRUE(id.ok());
  Turn();
  ASSERT_EQ(Requests().size(), 1u);
  EXPECT_EQ(Requests()[0].id, *id);
  EXPECT_EQ(Requests()[0].principal, "act");
  Answer(*id, 0);
  Answer("other", 1, "i1");
  coordinator_->Stop();
  EXPECT_EQ(coordinator_->Find({.request = *id})->size(), 1u);
  EXPECT_EQ(coordinator_->Find({.issue = "i1"})->at(0).rank, 1);
  EXPECT_EQ(coordinator_->Find({.job = "j"})->size(), 2u);
  EXPECT_TRUE(coordinator_->Find({.request = "none"})->empty());
}

TEST_F(CaptureCoordinatorTest, ReturnsOnlyTheRepliesOfARecreatedTopic) {
  Start();
  Answer("a", 0);
  Answer("b", 1);
  log_.Recreate(kCapturesTopic);
  Answer("new", 2);
  for (int i = 0; i < 14; ++i) Turn();
  coordinator_->Stop();
  ASSERT_EQ(coordinator_->Find({.job = "j"})->size(), 1u);
  EXPECT_EQ(coordinator_->Find({.job = "j"})->at(0).rank, 2);
}

TEST_F(CaptureCoordinatorTest, RulesRequestOneCapturePerJobPerMinute) {
  Start();
  IssueEvent plain = MakeEvent("j", "p/g/B", 1);
  coordinator_->OnEvent(plain);
  IssueEvent resolved = Found("j");
  resolved.type = EventType::kIssueResolved;
  coordinator_->OnEvent(resolved);
  Turn();
  EXPECT_TRUE(Requests().empty());
  coordinator_->OnEvent(Found("j"));
  coordinator_->OnEvent(Found("j", "p/g/C"));  // less than a minute after the previous request
  coordinator_->OnEvent(Found("k"));
  Turn();
  ASSERT_EQ(Requests().size(), 2u);
  EXPECT_EQ(Requests()[0].job, "j");
  EXPECT_EQ(Requests()[0].issue, IssueId(Found("j")));
  EXPECT_EQ(Requests()[0].principal, "rule p/g/A");
  EXPECT_EQ(Requests()[1].job, "k");
  clock_.Advance(60 * kNanosPerSecond);
  coordinator_->OnEvent(Found("j", "p/g/C"));
  Turn();
  EXPECT_EQ(Requests().size(), 3u);
  // Another notifier's request for the same event has the same ID.
  CaptureCoordinator twin(&clock_, &log_);
  twin.OnEvent(Found("j"));
  ASSERT_TRUE(twin.Start(nullptr).ok());
  clock_.AwaitWaiters(2);
  clock_.Advance(kNanosPerSecond);
  clock_.AwaitWaiters(2);
  twin.Stop();
  ASSERT_EQ(Requests().size(), 4u);
  EXPECT_EQ(Requests()[3].id, Requests()[0].id);
}

TEST_F(CaptureCoordinatorTest, NotifierIssuesRequestCaptures) {
  ASSERT_TRUE(log_.EnsureTopic(kIssuesTopic, {1, false, -1}).ok());
  Publish(&log_, Found("before"),
          0);  // a capture of an event that precedes the start would show a different moment
  auto notifier = *Notifier::Make(&clock_, &log_, {}, {});
  ASSERT_TRUE(notifier->Start().ok());
  clock_.AwaitWaiters(1);
  coordinator_ = std::make_unique<CaptureCoordinator>(&clock_, &log_);
  ASSERT_TRUE(coordinator_->Start(notifier.get()).ok());
  clock_.AwaitWaiters(3);
  Publish(&log_, Found("after"), 0);
  for (int turn = 0; turn < 100 && Requests().empty(); ++turn) {
    clock_.AwaitWaiters(3);
    clock_.Advance(kNanosPerSecond);
  }
  ASSERT_EQ(Requests().size(), 1u);
  EXPECT_EQ(Requests()[0].job, "after");
  coordinator_->Stop();
}

TEST_F(CaptureCoordinatorTest, LimitsRequestsAndCaptures) {
  Start({.max_captures = 2, .max_requests = 2, .max_jobs = 1});
  log_.SetWriteFault([](std::string_view) { return absl::UnavailableError("away"); });
  for (int i = 0; i < 3; ++i) Turn();
  log_.SetWriteFault(nullptr);
  for (int64_t rank = 0; rank < 5; ++rank) Answer("r", rank);
  Turn();
  const auto kept = *coordinator_->Find({});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].rank, 3);
  coordinator_->Stop();
  const CaptureRequest request{.job = "j",
                               .expires = EventTime::FromNs(clock_.WallNs() + kNanosPerSecond)};
  EXPECT_TRUE(coordinator_->RequestCapture(request).ok());
  EXPECT_TRUE(coordinator_->RequestCapture(request).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(coordinator_->RequestCapture(request).status()));
}

TEST_F(CaptureCoordinatorTest, RequestExpiredWhileLogUnavailable_IsDropped) {
  coordinator_ = std::make_unique<CaptureCoordinator>(&clock_, &log_);
  ASSERT_TRUE(coordinator_
                  ->RequestCapture(
                      {.job = "j", .expires = EventTime::FromNs(clock_.WallNs() + kNanosPerSecond)})
                  .ok());
  clock_.Advance(2 * kNanosPerSecond);
  ASSERT_TRUE(coordinator_->Start(nullptr).ok());
  clock_.AwaitWaiters(1);
  coordinator_->Stop();
  EXPECT_TRUE(Requests().empty());
}

}  // namespace
}  // namespace pitwall::notifier
