// Tests for mirroring from the log to a receiver that accepts and rejects requests, becomes
// unreachable, and recovers.
#include "services/history/remote/remote_write.h"

#include <gtest/gtest.h>

#include <atomic>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/remote/testing/receiver.h"
#include "services/history/windows/testing/batches.h"
#include "services/io/topics.h"
#include "tests/fakes/memory_log.h"
#include "tests/fakes/replaced_log.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kSeriesName = "__name__=train_loss,pitwall_job=job-1,rank=0";

class RemoteWriteTest : public ::testing::Test {
 protected:
  RemoteWriteTest() : log_(&clock_) {
    EXPECT_TRUE(log_.EnsureTopic(kTelemetryTopic, {1, false, -1}).ok());
    auto appender = log_.OpenAppender();
    EXPECT_TRUE(appender.ok());
    appender_ = *std::move(appender);
    options_.topic = kTelemetryTopic;
    options_.group = "g";
    options_.linger_ns = 0;
  }
  ~RemoteWriteTest() override { Stop(); }

  // Appends batches with one sample each, one millisecond apart.
  void Append(int count) {
    for (int i = 0; i < count; ++i) {
      OwnedBatch batch("rank-0", ++sequence_, 0);
      batch.batch.schemas.emplace_back(schema_);
      const int64_t now = clock_.WallNs() / kNanosPerMilli * kNanosPerMilli;
      time_ns_ = std::max(time_ns_ + kNanosPerMilli, now - 1000 * kNanosPerMilli);
      batch.Rows(schema_, {time_ns_}, {static_cast<double>(sequence_)});
      AppendBatch(batch);
    }
  }
  void AppendBatch(const OwnedBatch& batch) {
    std::string bytes;
    codec::EncodeBatch(batch.batch, &bytes);
    AppendBytes(std::move(bytes));
  }
  void AppendBytes(std::string bytes) {
    ASSERT_TRUE(appender_
                    ->Append({{.topic = std::string(kTelemetryTopic),
                               .partition = 0,
                               .key = "job-1",
                               .value = std::move(bytes)}})
                    .ok());
  }
  void Start() { Start(&log_); }
  void Start(Log* log) {
    remote_ = nullptr;  // removes its metrics before the next instance adds its own
    remote_ = std::make_unique<RemoteWrite>(&clock_, log, &receiver_, options_, &exposition_);
    remote_->Start({0});
  }
  void Stop() {
    if (remote_ != nullptr) remote_->Stop();
  }
  // Appends `count` samples, starts, and returns after all samples have been received.
  void SendFirst(size_t count) {
    Append(count);
    Start();
    Await([&] { return Received() == count && remote_->idle(); });
  }
  template <typename F>
  void Await(F done) {
    const auto pause = clock_.NewWakeup();
    const int64_t deadline = clock_.MonotonicNs() + 20 * kNanosPerSecond;
    while (!done() && clock_.MonotonicNs() < deadline) pause->Wait(2 * kNanosPerMilli);
    ASSERT_TRUE(done());
  }
  size_t Received() const {
    const auto series = receiver_.series();
    const auto at = series.find(std::string(kSeriesName));
    return at == series.end() ? 0 : at->second.size();
  }
  int64_t StoredOffset() {
    const auto committed = log_.Committed(options_.group, {std::string(kTelemetryTopic), 0});
    return committed.ok() && *committed ? (*committed)->offset : -1;
  }
  // Expects each appended sample exactly once, in order, and with identical bits.
  void ExpectAll(uint64_t count) {
    const auto points = receiver_.series()[std::string(kSeriesName)];
    ASSERT_EQ(points.size(), count);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(points[i].second, std::bit_cast<uint64_t>(static_cast<double>(i + 1)));
  }

  clock::SystemClock clock_;
  fakes::MemoryLog log_;
  std::unique_ptr<Appender> appender_;
  FakeReceiver receiver_;
  MirrorOptions options_;
  self_metrics::Exposition exposition_;
  std::unique_ptr<RemoteWrite> remote_;
  const Schema schema_ = SchemaOf(1, {Labels({{kMetricName, "train_loss"}, {"rank", "0"}})});
  uint64_t sequence_ = 0;
  int64_t time_ns_ = 0;
};

TEST_F(RemoteWriteTest, SendsExistingAndNewSamples) {
  options_.receiver.authorization = [] { return std::string("Bearer secret"); };
  Append(20);
  Start();
  Await([&] { return Received() == 20; });
  Append(5);
  Await([&] { return Received() == 25; });
  ExpectAll(25);
  const HttpCall call = receiver_.calls().front();
  EXPECT_EQ(call.method, "POST");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Type", "application/x-protobuf"},
      {"Content-Encoding", "snappy"},
      {"X-Prometheus-Remote-Write-Version", "0.1.0"},
      {"Authorization", "Bearer secret"}};
  EXPECT_EQ(call.headers, headers);
}

TEST_F(RemoteWriteTest, ResumesAtStoredPositionAfterRestart) {
  SendFirst(20);
  Stop();
  const size_t calls = receiver_.calls().size();
  Append(10);
  Start();
  Await([&] { return Received() == 30; });
  ExpectAll(30);
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
  EXPECT_EQ(remote_->counters().samples.value(), 10U);
  EXPECT_GT(receiver_.calls().size(), calls);
}

// Simulates kill -9 after a request but before its position is saved.
TEST_F(RemoteWriteTest, ResendDoesNotLoseNewSamples) {
  Append(20);
  auto writes = std::make_shared<std::atomic<int>>(0);
  log_.SetWriteFault([=](std::string_view what) {
    return what == "store_position" && (*writes)++ > 0 ? Unavailable("killed") : OkStatus();
  });
  Start();
  Await([&] { return Received() == 20; });
  Stop();
  log_.SetWriteFault([](std::string_view) { return OkStatus(); });
  Append(10);
  Start();
  Await([&] { return Received() == 30; });
  ExpectAll(30);
  // The receiver rejects the resent request. When the samples are sent one by one, the receiver
  // accepts only the newest, which is a duplicate.
  EXPECT_EQ(remote_->counters().repeated.value(), 19U);
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
}

TEST_F(RemoteWriteTest, WaitsForUnreachableOrBusyReceiver) {
  receiver_.Script({Unavailable("connection refused"), HttpReply{500, {}, ""},
                    HttpReply{429, {{"retry-after", "1"}}, ""}});
  const int64_t began = clock_.MonotonicNs();
  Append(20);
  Start();
  Await([&] { return Received() == 20; });
  EXPECT_GE(clock_.MonotonicNs() - began, kNanosPerSecond);  // delay of the Retry-After header
  ExpectAll(20);
  EXPECT_EQ(remote_->counters().retries.value(), 3U);
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
}

TEST_F(RemoteWriteTest, RetryableReplies_DoNotLoseSamples) {
  receiver_.Script({HttpReply{408, {}, ""}, HttpReply{425, {}, ""},
                    HttpReply{503,
                              {{"date", "Sat, 21 Nov 2026 14:00:00 GMT"},
                               {"retry-after", "Sat, 21 Nov 2026 14:00:01 GMT"}},
                              ""}});
  const int64_t began = clock_.MonotonicNs();
  Append(20);
  Start();
  Await([&] { return Received() == 20; });
  EXPECT_GE(clock_.MonotonicNs() - began, kNanosPerSecond);
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
}

TEST_F(RemoteWriteTest, OversizedRequest_IsSplit) {
  receiver_.Script({HttpReply{413, {}, ""}});
  Append(20);
  Start();
  Await([&] { return Received() == 20; });
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
}

TEST_F(RemoteWriteTest, RejectedSamplesAreCountedAndOthersAreSent) {
  receiver_.Script({HttpReply{403, {}, "no"}});
  Append(7);
  Start();
  Await([&] { return remote_->counters().refused.value() == 7; });
  Append(5);
  Await([&] { return Received() == 5; });
}

TEST_F(RemoteWriteTest, LateSampleDoesNotAffectOtherSamples) {
  Append(20);
  Start();
  Await([&] { return Received() == 20; });
  Stop();
  OwnedBatch late("rank-0", ++sequence_, 0);
  late.batch.schemas.emplace_back(schema_);
  late.Rows(schema_, {time_ns_ - 3 * kNanosPerMilli}, {-1.0});
  AppendBatch(late);
  Append(9);
  Start();
  Await([&] { return Received() == 29; });
  EXPECT_EQ(remote_->counters().refused.value(), 1U);
}

TEST_F(RemoteWriteTest, ExpiredSamplesAreDroppedAndCounted) {
  receiver_.Script({Unavailable("connection refused")}, true);
  options_.max_behind_ns = 3 * kNanosPerSecond;
  Append(20);
  Start();
  Await([&] { return remote_->counters().behind.value() >= 20; });
  receiver_.Script({});
  const size_t before = Received();
  Append(5);
  Await([&] { return Received() == before + 5; });
}

TEST_F(RemoteWriteTest, StopDoesNotWaitForReceiver) {
  receiver_.Script({HttpReply{503, {{"retry-after", "60"}}, ""}}, true);
  Append(20);
  Start();
  Await([&] { return remote_->counters().retries.value() > 0; });
  const int64_t began = clock_.MonotonicNs();
  Stop();
  EXPECT_LT(clock_.MonotonicNs() - began, 10 * kNanosPerSecond);
  receiver_.Script({});
  Start();
  Await([&] { return Received() == 20; });
  ExpectAll(20);
}

TEST_F(RemoteWriteTest, LogRecreatedWhileRunning_SendsNewSamples) {
  SendFirst(20);
  log_.Recreate(kTelemetryTopic);
  Append(5);
  Await([&] { return Received() == 25; });
  ExpectAll(25);
  EXPECT_EQ(remote_->counters().log_resets.value(), 1U);
  EXPECT_EQ(remote_->counters().refused.value(), 0U);
  EXPECT_EQ(remote_->counters().input_losses.value(), 0U);
  Stop();
  EXPECT_EQ(StoredOffset(), 5);
  Append(2);
  Start();
  Await([&] { return Received() == 27; });
  ExpectAll(27);
  EXPECT_EQ(remote_->counters().log_resets.value(), 0U);
}

// A Kafka reader moves to the end of the new log by itself.
TEST_F(RemoteWriteTest, ReaderMovesBackInRecreatedLog_SendsNewSamples) {
  fakes::ReplacedLog replaced(&log_);
  Append(20);
  Start(&replaced);
  Await([&] { return Received() == 20 && remote_->idle(); });
  log_.Recreate(kTelemetryTopic);
  Append(5);
  Await([&] { return Received() == 25; });
  ExpectAll(25);
  EXPECT_EQ(remote_->counters().log_resets.value(), 1U);
  Stop();  // before `replaced` is destroyed
}

TEST_F(RemoteWriteTest, LogRecreatedWhileStopped_SendsNewSamples) {
  SendFirst(20);
  Stop();
  log_.Recreate(kTelemetryTopic);
  Append(5);
  Start();
  Await([&] { return Received() == 25; });
  ExpectAll(25);
  EXPECT_EQ(remote_->counters().log_resets.value(), 1U);
}

TEST_F(RemoteWriteTest, RecordsOfBothLogsAreSentOnce) {
  SendFirst(20);
  std::vector<Record> copied = log_.Records(kTelemetryTopic);
  copied.resize(3);
  log_.Recreate(kTelemetryTopic);
  for (const Record& record : copied) AppendBytes(record.value);
  Append(2);
  Await([&] { return Received() == 22 && remote_->counters().duplicates.value() == 3; });
  ExpectAll(22);
}

TEST_F(RemoteWriteTest, PendingSamplesOfFormerLogAreSent) {
  options_.linger_ns = 3600 * kNanosPerSecond;
  Append(3);
  Start();
  Await([&] {
    return exposition_.Render().find("pitwall_insights_remote_write_lag_records 0\n") !=
           std::string::npos;
  });
  EXPECT_EQ(Received(), 0U);
  log_.Recreate(kTelemetryTopic);
  Await([&] { return Received() == 3; });
  ExpectAll(3);
  Stop();
  EXPECT_EQ(StoredOffset(), 0);
}

TEST_F(RemoteWriteTest, LostLogRecordsAreCountedAsGap) {
  SendFirst(20);
  Stop();
  Append(10);
  log_.Drop(kTelemetryTopic, 0, 25);
  Start();
  Await([&] { return Received() == 25; });
  EXPECT_EQ(remote_->counters().input_losses.value(), 1U);
}

}  // namespace
}  // namespace pitwall::history
