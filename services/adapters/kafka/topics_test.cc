// Tests for requests that brokers reject while leaders move. Unlike a real broker, librdkafka's
// mock cluster returns these errors on demand.
#include "services/adapters/kafka/topics.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "services/adapters/clock/system_clock.h"

namespace pitwall::kafka {
namespace {

constexpr int16_t kListOffsets = 2;  // Kafka protocol API key

class TopicsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    KafkaLogOptions unconnected;
    unconnected.brokers = "127.0.0.1:1";
    auto owner =
        ClientConfig(unconnected).Build(RD_KAFKA_PRODUCER, std::make_unique<ClientState>());
    ASSERT_TRUE(owner.ok()) << owner.status();
    owner_ = *std::move(owner);
    cluster_.reset(rd_kafka_mock_cluster_new(owner_->get(), 1));
    ASSERT_NE(cluster_, nullptr);
    ASSERT_EQ(rd_kafka_mock_topic_create(cluster_.get(), "steps", 2, 1),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    options_.brokers = rd_kafka_mock_cluster_bootstraps(cluster_.get());
    auto topics = Topics::Open(options_, &clock_);
    ASSERT_TRUE(topics.ok()) << topics.status();
    topics_ = *std::move(topics);
  }

  void FailNext(int16_t api_key, std::vector<rd_kafka_resp_err_t> errors) {
    rd_kafka_mock_push_request_errors_array(cluster_.get(), api_key, errors.size(), errors.data());
  }

  StatusOr<int64_t> End(int64_t timeout_ns) {
    return topics_->Offset({"steps", 1}, Edge::kEnd, timeout_ns);
  }

  clock::SystemClock clock_;
  KafkaLogOptions options_;
  std::unique_ptr<Client> owner_;
  std::unique_ptr<rd_kafka_mock_cluster_t, Deleter<rd_kafka_mock_cluster_destroy>> cluster_;
  std::unique_ptr<Topics> topics_;  // destroyed before the cluster
};

TEST_F(TopicsTest, LeaderMoves_OffsetRequestIsRetried) {
  for (const auto error :
       {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH, RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
        RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE}) {
    FailNext(kListOffsets, {error, error});
    const StatusOr<int64_t> end = End(30 * kNanosPerSecond);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(*end, 0);
  }
}

TEST_F(TopicsTest, LeaderUnavailable_OffsetRequestTimesOut) {
  FailNext(kListOffsets, std::vector(1000, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
  const Status end = End(200 * kNanosPerMilli).status();
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
}

TEST_F(TopicsTest, RequestNotPermitted_FailsImmediately) {
  FailNext(kListOffsets, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  const Status end = End(30 * kNanosPerSecond).status();
  EXPECT_TRUE(absl::IsPermissionDenied(end)) << end;
}

}  // namespace
}  // namespace pitwall::kafka
