// librdkafka client: configuration, lifetime, and conversion of errors to Status. Private to
// services/adapters/kafka, the only module that includes librdkafka.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/kafka/kafka_log.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {

template <auto kFunction>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFunction(object);
  }
};
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, Deleter<rd_kafka_conf_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, Deleter<rd_kafka_queue_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, Deleter<rd_kafka_event_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, Deleter<rd_kafka_error_destroy>>;
using MessagePtr = std::unique_ptr<rd_kafka_message_t, Deleter<rd_kafka_message_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, Deleter<rd_kafka_topic_destroy>>;
using ListPtr = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                Deleter<rd_kafka_topic_partition_list_destroy>>;

// State that librdkafka's callbacks set for the owner of a client.
struct ClientState {
  std::atomic<bool> all_brokers_down{false};
  std::atomic<bool> fatal{false};  // fatal error of an idempotent producer
  // Sets the receiver of delivery reports. It runs on the thread that polls the client. Must be set
  // before the client is created.
  std::function<void(const rd_kafka_message_t&)> on_delivery;
};

// librdkafka client and the state of its callbacks. Thread-safe, like librdkafka.
class Client {
 public:
  Client(rd_kafka_t* handle, std::unique_ptr<ClientState> state)
      : state_(std::move(state)), handle_(handle) {}
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* get() const { return handle_; }
  ClientState& state() const { return *state_; }

 private:
  std::unique_ptr<ClientState> state_;
  rd_kafka_t* handle_;
};

// Registers topics with a producer before the producer sends to them. Otherwise, librdkafka would
// discover a new topic only on its timer, up to a second later. Thread-safe; must be destroyed
// before the client.
class MetTopics {
 public:
  explicit MetTopics(rd_kafka_t* producer) : producer_(producer) {}
  // Queries the broker if the topic is new to the producer. The topic must exist.
  Status Meet(std::string_view topic, int64_t timeout_ns);

 private:
  rd_kafka_t* const producer_;
  Mutex mutex_;
  StringMap<TopicPtr> met_ ABSL_GUARDED_BY(mutex_);
};

// Settings for one client: first the common settings (brokers, security, timeouts), then the
// caller's settings.
class ClientConfig {
 public:
  explicit ClientConfig(const KafkaLogOptions& options);
  ClientConfig& Set(std::string_view key, std::string_view value);
  ClientConfig& Set(std::string_view key, int64_t value);
  // Sets the options of an idempotent producer. A record that the brokers have not acknowledged
  // within `timeout_ns` fails.
  ClientConfig& SetProducer(const KafkaLogOptions& options, int64_t timeout_ns);
  // Creates the client. May be called only once. Returns the error of the first setting that
  // librdkafka rejected.
  StatusOr<std::unique_ptr<Client>> Build(rd_kafka_type_t type, std::unique_ptr<ClientState> state);

 private:
  ConfPtr conf_;
  Status status_;
};

// Validates the options before any client is created.
Status CheckOptions(const KafkaLogOptions& options);

// Returns the error as a Status with the message "<context>: <librdkafka's message>". Appends
// `detail` in parentheses if it differs from librdkafka's message.
Status ErrorStatus(rd_kafka_resp_err_t error, std::string_view context,
                   std::string_view detail = "");

// Calls `attempt` with the remaining time until its result is not Unavailable or `timeout_ns` has
// elapsed, and returns its last result. While a leader, a coordinator, or the controller moves,
// brokers reject requests, and librdkafka updates its metadata only for the next request.
Status RetryWhileUnavailable(Clock* clock, int64_t timeout_ns,
                             const std::function<Status(int64_t timeout_ns)>& attempt);

// Converts a timeout to milliseconds, the unit used by librdkafka. The result is rounded up and
// never negative.
int TimeoutMs(int64_t ns);

std::string Name(const TopicPartition& at);  // such as "topic [3]"
std::string Name(std::string_view topic, int32_t partition);

// Partition with an offset and metadata.
ListPtr OffsetList(const TopicPartition& at, int64_t offset, std::string_view metadata = "");
// Returns InvalidArgument if the metadata exceeds the broker's limit.
Status CheckMetadata(std::string_view metadata, std::string_view context);

// Copies the record into the producer's queue. Its delivery report will contain `opaque`.
rd_kafka_resp_err_t Produce(rd_kafka_t* producer, const OutgoingRecord& record, void* opaque,
                            bool block);
int64_t SizeOf(const OutgoingRecord& record);
// Returns InvalidArgument if the record is larger than the options allow.
Status CheckSize(const OutgoingRecord& record, int64_t max_record_bytes);

}  // namespace pitwall::kafka
