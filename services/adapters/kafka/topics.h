// Kafka topics: creation, partition counts, and configuration checks for Pitwall's topics.
// Thread-safe. Private to services/adapters/kafka.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {

enum class Edge { kStart, kEnd };

class Topics {
 public:
  // Borrows `options` and `clock`.
  static StatusOr<std::unique_ptr<Topics>> Open(const KafkaLogOptions& options, Clock* clock);

  // Implements Log::EnsureTopic. On success, every partition has a leader.
  Status Ensure(std::string_view topic, const TopicConfig& config);
  // Queries the partition count from the broker, and retries while the result is Unavailable, for
  // at most request_timeout. Returns NotFound if the topic does not exist. Never creates a topic.
  StatusOr<int32_t> Partitions(std::string_view topic);
  // Returns the cached partition count, or queries it from the broker.
  StatusOr<int32_t> KnownPartitions(std::string_view topic);
  // Discards the cached count after a producer receives an unknown-topic error.
  void Forget(std::string_view topic);
  // Returns the start or the end (last stable offset) of the partition. Retries while the
  // result is Unavailable, for at most `timeout_ns`. Uses a separate client, because a broker
  // processes requests on a connection in order, and a reader's fetch may wait for records.
  StatusOr<int64_t> Offset(const TopicPartition& at, Edge edge, int64_t timeout_ns);
  // Checks that the record's topic and partition exist.
  Status CheckTarget(const OutgoingRecord& record);
  // Returns FailedPrecondition if a Pitwall topic does not use broker timestamps (LogAppendTime).
  // Queries the configuration once per topic.
  Status CheckTimestamps(std::string_view topic);

 private:
  struct Layout {
    int32_t partitions = 0;
    bool ready = false;  // every partition has a leader
  };

  Topics(const KafkaLogOptions& options, Clock* clock, std::unique_ptr<Client> client)
      : options_(options), clock_(clock), client_(std::move(client)) {}

  StatusOr<Layout> Ask(std::string_view topic, int64_t timeout_ns);
  // Sends a single request; Offset retries it.
  Status AskOffset(const TopicPartition& at, Edge edge, int64_t timeout_ns, int64_t* offset);
  Status Create(std::string_view topic, const TopicConfig& config);
  // Checks the timestamp type and, if given, the cleanup policy.
  Status CheckConfig(std::string_view topic, const TopicConfig* wanted);
  StatusOr<StringMap<std::string>> Config(std::string_view topic);
  bool Foreign(std::string_view topic) const;
  // Runs one admin request and returns the event with its result.
  StatusOr<EventPtr> Request(
      rd_kafka_admin_op_t operation, std::string_view what,
      const std::function<void(rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>& send);

  const KafkaLogOptions& options_;
  Clock* const clock_;
  const std::unique_ptr<Client> client_;
  Mutex mutex_;
  StringMap<int32_t> partitions_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string, StringHash, StringEq> stamped_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::kafka
