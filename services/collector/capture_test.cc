// Tests captures on their way from the log to the clients and back, using the bridge alone and a
// complete collector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/collector/capture/capture_client.h"
#include "services/collector/capture/capture_topic_bridge.h"
#include "services/collector/capture/node_captures.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/testing/collector_fixture.h"
#include "services/io/topics.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::collector {
namespace {

using ::testing::HasSubstr;

class CaptureTopicBridgeTest : public ::testing::Test {
 protected:
  CaptureTopicBridgeTest() {
    EXPECT_TRUE(log_.EnsureTopic(kControlTopic, {1, false, -1}).ok());
    EXPECT_TRUE(log_.EnsureTopic(kCapturesTopic, {1, false, -1}).ok());
    appender_ = *log_.OpenAppender();
    bridge_ = std::make_unique<CaptureTopicBridge>(&clock_, &log_, appender_.get());
  }
  void Start() {
    bridge_->Start([this](CaptureRequest request) {
      const std::lock_guard<std::mutex> lock(mutex_);
      given_.push_back(request.id);
      changed_.notify_all();
    });
    clock_.AwaitWaiters(1);
  }
  // Runs one iteration of the bridge's thread.
  void Turn() {
    clock_.Advance(kNanosPerSecond);
    clock_.AwaitWaiters(1);
  }
  void AwaitGiven(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return given_.size() >= count; });
  }
  CaptureRequest RequestOf(std::string id, int64_t for_ns = 10 * kNanosPerSecond) {
    return {std::move(id), "job-1", {}, "", "act", EventTime::FromNs(clock_.WallNs() + for_ns)};
  }
  void Append(const std::string& value) {
    ASSERT_TRUE(
        appender_->Append({{.topic = std::string(kControlTopic), .key = "k", .value = value}})
            .ok());
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::unique_ptr<Appender> appender_;
  std::unique_ptr<CaptureTopicBridge> bridge_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> given_;
};

TEST_F(CaptureTopicBridgeTest, ForwardsRequestsThatHaveNotExpired) {
  Append(cloudevents::EncodeCaptureRequest(RequestOf("old", 0)));
  Append("garbage");
  Append(cloudevents::EncodeCaptureRequest(RequestOf("waits")));
  Start();
  AwaitGiven(1);
  Append(cloudevents::EncodeCaptureRequest(RequestOf("new")));
  AwaitGiven(2);
  bridge_->Stop();
  EXPECT_EQ(given_, (std::vector<std::string>{"waits", "new"}));
}

TEST_F(CaptureTopicBridgeTest, ForwardsRequestsOfARecreatedTopic) {
  Start();
  Append(cloudevents::EncodeCaptureRequest(RequestOf("a")));
  Append(cloudevents::EncodeCaptureRequest(RequestOf("b")));
  AwaitGiven(2);
  log_.Recreate(kControlTopic);
  Append(cloudevents::EncodeCaptureRequest(RequestOf("new", 60 * kNanosPerSecond)));
  for (int i = 0; i < 14; ++i) Turn();
  bridge_->Stop();
  EXPECT_THAT(given_, testing::ElementsAre("a", "b", "new"));
}

TEST_F(CaptureTopicBridgeTest, ForwardsIntervalChangesSeparately) {
  ActionEvent request;
  request.type = ActionEventType::kRequested;
  request.kind = ActionKind::kInterval;
  request.issue = "late";
  request.id = MakeActionId(request);
  request.job = "job-1";
  request.rule = std::string(kIntervalRequestRule);
  request.interval = Duration::Seconds(5);
  request.expires = EventTime::FromNs(clock_.WallNs());
  Append(cloudevents::EncodeCloudEvent(request));
  request.issue = "new";
  request.expires += Duration::Seconds(1);
  Append(cloudevents::EncodeCloudEvent(request));
  request.kind = ActionKind::kStop;  // collectors ignore this action
  Append(cloudevents::EncodeCloudEvent(request));
  Append(cloudevents::EncodeCaptureRequest(RequestOf("a capture")));
  std::vector<std::string> sampled;
  bridge_->Start(
      [this](CaptureRequest capture) {
        const std::lock_guard<std::mutex> lock(mutex_);
        given_.push_back(capture.id);
        changed_.notify_all();
      },
      [&](const ActionEvent& action) {
        sampled.push_back(Cat(action.issue, " ", action.job, " ", action.interval.ns()));
      });
  AwaitGiven(1);
  bridge_->Stop();
  EXPECT_EQ(sampled, (std::vector<std::string>{"new job-1 5000000000"}));
  EXPECT_EQ(given_, (std::vector<std::string>{"a capture"}));
}

TEST_F(CaptureTopicBridgeTest, SecondRequestWithinOneSecondIsRejected) {
  Start();
  EXPECT_TRUE(bridge_->RequestCapture(RequestOf("a")).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(bridge_->RequestCapture(RequestOf("b"))));
  Turn();
  EXPECT_TRUE(bridge_->RequestCapture(RequestOf("c")).ok());
  Turn();
  EXPECT_EQ(log_.Records(kControlTopic).size(), 2u);
  AwaitGiven(2);  // the bridge also receives its own request, as all collectors do
}

TEST_F(CaptureTopicBridgeTest, LogUnavailable_OutboxIsLimited) {
  log_.SetWriteFault([](std::string_view) { return absl::UnavailableError("away"); });
  Start();
  RankCapture capture;
  capture.request = "r";
  capture.job = "job-1";
  for (size_t i = 0; i < CaptureTopicBridge::kMaxRecords + 3; ++i) {
    capture.rank = static_cast<int64_t>(i);
    bridge_->Deliver(capture);
  }
  EXPECT_EQ(bridge_->dropped(), 3u);
  Turn();
  EXPECT_TRUE(log_.Records(kCapturesTopic).empty());
  log_.SetWriteFault(nullptr);
  Turn();
  bridge_->Stop();
  const std::vector<Record> records = log_.Records(kCapturesTopic);
  ASSERT_EQ(records.size(), CaptureTopicBridge::kMaxRecords);
  EXPECT_EQ(cloudevents::DecodeRankCapture(records[0].value)->rank, 3);
  EXPECT_EQ(records[0].key, "job-1");
}

class CaptureCollectorTest : public CollectorTest {
 protected:
  CaptureCollectorTest() {
    options_.socket_path = root_.At("socket");
    options_.deliver_capture = [this](RankCapture capture) {
      const std::lock_guard<std::mutex> lock(mutex_);
      got_.push_back(std::move(capture));
      changed_.notify_all();
      arrived_->Wake();
    };
    options_.ask_capture = [this](const CaptureRequest& request) {
      const std::lock_guard<std::mutex> lock(mutex_);
      asked_.push_back(request);
      return ask_;
    };
    WriteProcess(777);
  }
  TestClient Join(int rank, bool captures = true) {
    TestClient client(options_.socket_path);
    auto hello = HelloOf(rank, clock_.WallNs());
    hello.mutable_hello()->set_captures(captures);
    client.Send(hello);
    client.ReadWelcome();
    return client;
  }
  void Request(std::string id = "r1") {
    collector_->RequestCapture({std::move(id),
                                "job-1",
                                {},
                                "",
                                "act",
                                EventTime::FromNs(clock_.WallNs() + 60 * kNanosPerSecond)});
  }
  std::vector<RankCapture> AwaitCaptures(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return got_.size() >= count; });
    return got_;
  }
  // Advances the clock until the captures are delivered. A single step may not be enough, because
  // NodeCaptures may read the clock just after it.
  std::vector<RankCapture> AdvanceToCaptures(size_t count) {
    Advance(kCaptureGapNs);
    while (true) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (got_.size() >= count) return got_;
      }
      if (!arrived_->Wait(20 * kNanosPerMilli)) Advance(100 * kNanosPerMilli);
    }
  }
  static client::v1::ClientMessage AnswerOf(const client::v1::Capture& asked) {
    client::v1::ClientMessage message;
    auto* answer = message.mutable_captured();
    answer->set_id(asked.id());
    answer->set_look(asked.look());
    answer->set_phase("collective");
    auto* thread = answer->add_threads();
    thread->set_main(true);
    thread->add_frames("all_reduce (d.py:1)");
    return message;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::unique_ptr<Wakeup> arrived_ = clock::SystemClock().NewWakeup();
  std::vector<RankCapture> got_;
  std::vector<CaptureRequest> asked_;
  Status ask_;
};

TEST_F(CaptureCollectorTest, SamplesClientTwiceAndPublishesState) {
  Start();
  TestClient client = Join(1);
  Request();
  const auto first = client.Read();
  ASSERT_TRUE(first.has_capture());
  EXPECT_EQ(first.capture().look(), 1u);
  client.Send(AnswerOf(first.capture()));
  Advance(kCaptureGapNs);
  const auto second = client.Read();
  ASSERT_TRUE(second.has_capture());
  EXPECT_EQ(second.capture().look(), 2u);
  client.Send(AnswerOf(second.capture()));
  const auto captures = AwaitCaptures(1);
  EXPECT_EQ(captures[0].job, "job-1");
  EXPECT_EQ(captures[0].job_name, "train");
  EXPECT_EQ(captures[0].rank, 1);
  EXPECT_EQ(captures[0].world_size, 2);
  EXPECT_EQ(captures[0].state, CaptureState::kCollective);
  EXPECT_EQ(Counter("pitwall_collector_captured_ranks_total"), 1);
  // The node publishes the capture state as a series.
  Advance(3 * kNanosPerSecond);
  bool published = false;
  for (const ReadBatch& batch : Stop())
    published |= batch.Has("pitwall_capture_state{rank=1,state=collective}");
  EXPECT_TRUE(published);
}

TEST_F(CaptureCollectorTest, OversizedAnswer_ClientIsDisconnectedAndCapturedBySystem) {
  Start();
  TestClient client = Join(0);
  Request();
  ASSERT_TRUE(client.Read().has_capture());
  std::string head;
  const size_t size = 100u << 20;
  for (int i = 0; i < 4; ++i) head.push_back(static_cast<char>(size >> (8 * i)));
  client.SendSome(head + std::string(1 << 20, 'x'));
  EXPECT_THAT(client.ReadRefused(), HasSubstr("malformed"));
  const auto captures = AdvanceToCaptures(1);
  EXPECT_EQ(captures[0].source, "system");
  EXPECT_THAT(captures[0].why_system, HasSubstr("connection to the collector is lost"));
}

TEST_F(CaptureCollectorTest, OldClientReceivesNoCaptureRequest) {
  Start();
  TestClient client = Join(0, false);
  Request();
  // The request must be accepted before the clock advances.
  while (Counter("pitwall_collector_captures_total") < 1) std::this_thread::yield();
  const auto captures = AdvanceToCaptures(1);
  EXPECT_THAT(captures[0].why_system, HasSubstr("does not support captures"));
}

TEST_F(CaptureCollectorTest, OwnerRequestsCaptureOverSocket) {
  Start();
  TestClient client = Join(0);
  const auto id = AskCollector(options_.socket_path, "train", {0}, 5 * kNanosPerSecond);
  ASSERT_TRUE(id.ok()) << id.status();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSERT_EQ(asked_.size(), 1u);
    EXPECT_EQ(asked_[0].id, *id);
    EXPECT_EQ(asked_[0].job, "job-1");
    EXPECT_EQ(asked_[0].ranks, std::vector<int64_t>{0});
    EXPECT_EQ(asked_[0].principal, Cat("uid:", getuid()));
    EXPECT_EQ(asked_[0].expires.ns(), clock_.WallNs() + 5 * kNanosPerSecond);
    ask_ = absl::ResourceExhaustedError("retry later");
  }
  EXPECT_THAT(std::string(AskCollector(options_.socket_path, "job-1", {}, 0).status().message()),
              HasSubstr("retry later"));
  EXPECT_THAT(std::string(AskCollector(options_.socket_path, "nope", {}, 0).status().message()),
              HasSubstr("not found on node n1"));
  EXPECT_THAT(std::string(AskCollector(options_.socket_path, "a\nb", {}, 0).status().message()),
              HasSubstr("malformed"));
  EXPECT_TRUE(absl::IsNotFound(AskCollector(root_.At("none"), "job-1", {}, 0).status()));
}

}  // namespace
}  // namespace pitwall::collector
