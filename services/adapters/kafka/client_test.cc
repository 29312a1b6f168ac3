// Tests without a broker. Tests with a real broker are in tests/kafka.
#include "services/adapters/kafka/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KafkaLogOptions Valid() {
  KafkaLogOptions options;
  options.brokers = "127.0.0.1:1";  // a port without a listener
  return options;
}

Status Open(const KafkaLogOptions& options) {
  static clock::SystemClock system_clock;
  return OpenKafkaLog(options, &system_clock).status();
}

TEST(KafkaOptions, OpenDoesNotRequireBroker) {
  const Status opened = Open(Valid());
  EXPECT_TRUE(opened.ok()) << opened;
}

TEST(KafkaOptions, ErrorNamesEachInvalidOption) {
  const std::vector<std::pair<std::string, std::function<void(KafkaLogOptions&)>>> cases = {
      {"brokers must be set", [](auto& o) { o.brokers.clear(); }},
      {"client_id", [](auto& o) { o.client_id.clear(); }},
      {"request_timeout", [](auto& o) { o.request_timeout_ns = 5; }},
      {"append_timeout", [](auto& o) { o.append_timeout_ns = -1; }},
      {"commit_timeout", [](auto& o) { o.commit_timeout_ns = 3600 * kNanosPerSecond; }},
      {"transaction_timeout", [](auto& o) { o.transaction_timeout_ns = 0; }},
      {"commit_timeout must not be longer",
       [](auto& o) { o.commit_timeout_ns = 61 * kNanosPerSecond; }},
      {"linger", [](auto& o) { o.linger_ns = -1; }},
      {"max_record_bytes", [](auto& o) { o.max_record_bytes = 10; }},
      {"append_queue_bytes", [](auto& o) { o.append_queue_bytes = 1000; }},
      {"read_ahead_bytes", [](auto& o) { o.read_ahead_bytes = 1; }},
      {"replication_factor", [](auto& o) { o.replication_factor = 0; }},
      {"'isolation.level' is reserved",
       [](auto& o) { o.rdkafka["isolation.level"] = "read_uncommitted"; }},
      {"'enable.idempotence' is reserved",
       [](auto& o) { o.rdkafka["enable.idempotence"] = "false"; }},
      {"'no.such.key': librdkafka has no such setting",
       [](auto& o) { o.rdkafka["no.such.key"] = "1"; }},
      {"'socket.timeout.ms': librdkafka rejected",
       [](auto& o) { o.rdkafka["socket.timeout.ms"] = "soon"; }},
  };
  for (const auto& [words, spoil] : cases) {
    KafkaLogOptions options = Valid();
    spoil(options);
    const Status refused = Open(options);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(refused.ToString(), HasSubstr(words));
  }
}

TEST(KafkaOptions, ErrorsHideSecrets) {
  KafkaLogOptions options = Valid();
  options.rdkafka["security.protocol"] = "hunter2";  // a value for the wrong field
  const Status refused = Open(options);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(refused.ToString(), Not(HasSubstr("hunter2")));
}

TEST(KafkaOptions, SecuritySettingsArePassedThrough) {
  KafkaLogOptions options = Valid();
  options.rdkafka = {{"security.protocol", "SASL_PLAINTEXT"},
                     {"sasl.mechanisms", "SCRAM-SHA-512"},
                     {"sasl.username", "pitwall"},
                     {"sasl.password", "secret"}};
  EXPECT_TRUE(Open(options).ok());
}

TEST(KafkaLog, MissingBroker_ReturnsUnavailableInTime) {
  clock::SystemClock system_clock;
  KafkaLogOptions options = Valid();
  options.request_timeout_ns = kNanosPerSecond;
  auto log = OpenKafkaLog(options, &system_clock);
  ASSERT_TRUE(log.ok()) << log.status();
  const int64_t start = system_clock.MonotonicNs();
  EXPECT_TRUE(absl::IsUnavailable((*log)->Partitions("t").status()));
  EXPECT_TRUE(absl::IsUnavailable((*log)->EnsureTopic("t", {})));
  EXPECT_TRUE(absl::IsUnavailable((*log)->OpenReader({"t", 0}, kFromStart).status()));
  EXPECT_TRUE(absl::IsUnavailable((*log)->Committed("g", {"t", 0}).status()));
  EXPECT_TRUE(absl::IsUnavailable((*log)->StorePosition("g", {"t", 0}, {})));
  EXPECT_LT(system_clock.MonotonicNs() - start, 30 * kNanosPerSecond);
}

TEST(KafkaLog, RejectsInvalidTopicNames) {
  clock::SystemClock system_clock;
  auto log = OpenKafkaLog(Valid(), &system_clock);
  ASSERT_TRUE(log.ok()) << log.status();
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("."), std::string(250, 'x')}) {
    EXPECT_EQ((*log)->EnsureTopic(name, {}).code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ((*log)->Partitions(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  TopicConfig none;
  none.partitions = 0;
  EXPECT_EQ((*log)->EnsureTopic("t", none).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*log)->OpenCommitter("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KafkaErrors, MapsErrorCodes) {
  const std::pair<rd_kafka_resp_err_t, absl::StatusCode> cases[] = {
      {RD_KAFKA_RESP_ERR_NO_ERROR, absl::StatusCode::kOk},
      {RD_KAFKA_RESP_ERR__TRANSPORT, absl::StatusCode::kUnavailable},
      {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, absl::StatusCode::kUnavailable},
      {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, absl::StatusCode::kUnavailable},
      {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, absl::StatusCode::kUnavailable},
      {RD_KAFKA_RESP_ERR__FENCED, absl::StatusCode::kAborted},
      {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, absl::StatusCode::kAborted},
      {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, absl::StatusCode::kNotFound},
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, absl::StatusCode::kInvalidArgument},
      {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, absl::StatusCode::kInvalidArgument},
      {RD_KAFKA_RESP_ERR_INVALID_RECORD, absl::StatusCode::kInvalidArgument},
      {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, absl::StatusCode::kInvalidArgument},
      {RD_KAFKA_RESP_ERR__QUEUE_FULL, absl::StatusCode::kResourceExhausted},
      {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, absl::StatusCode::kPermissionDenied},
      {RD_KAFKA_RESP_ERR__AUTHENTICATION, absl::StatusCode::kUnauthenticated},
      {RD_KAFKA_RESP_ERR__BAD_MSG, absl::StatusCode::kDataLoss},
      {RD_KAFKA_RESP_ERR__FAIL, absl::StatusCode::kInternal},
  };
  for (const auto& [error, code] : cases) {
    EXPECT_EQ(ErrorStatus(error, "context").code(), code) << rd_kafka_err2name(error);
  }
  EXPECT_THAT(ErrorStatus(RD_KAFKA_RESP_ERR__TRANSPORT, "reading t [3]", "why").ToString(),
              HasSubstr("reading t [3]: Local: Broker transport failure (why)"));
}

TEST(KafkaErrors, RoundsTimeoutsUp) {
  EXPECT_EQ(TimeoutMs(-5), 0);
  EXPECT_EQ(TimeoutMs(0), 0);
  EXPECT_EQ(TimeoutMs(1), 1);
  EXPECT_EQ(TimeoutMs(kNanosPerMilli), 1);
  EXPECT_EQ(TimeoutMs(kNanosPerMilli + 1), 2);
  EXPECT_EQ(TimeoutMs(INT64_MAX), INT_MAX);
}

TEST(KafkaErrors, RecordSizeIncludesKeyValueAndHeaders) {
  OutgoingRecord record;
  record.topic = "t";
  record.key = "1234";
  record.value = "123456";
  record.headers = {{"ab", "cde"}};
  EXPECT_EQ(SizeOf(record), 15);
  EXPECT_TRUE(CheckSize(record, 15).ok());
  const Status refused = CheckSize(record, 14);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.ToString(), HasSubstr("is 15 bytes; the limit is 14"));
  record.tombstone = true;
  EXPECT_EQ(SizeOf(record), 9);
}

}  // namespace
}  // namespace pitwall::kafka
