// Topics: making them, counting their partitions, checking that those of ours are set up as Pitwall
// needs them. Thread-safe. Private to services/adapters/kafka.
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
  // `options` and `clock` are borrowed.
  static StatusOr<std::unique_ptr<Topics>> Open(const KafkaLogOptions& options, Clock* clock);

  // As Log::EnsureTopic. On success every partition has a leader.
  Status Ensure(std::string_view topic, const TopicConfig& config);
  // Asks the broker; NotFound when there is no such topic. Never makes one.
  StatusOr<int32_t> Partitions(std::string_view topic);
  // The count of the last answer; asks when there is none yet.
  StatusOr<int32_t> KnownPartitions(std::string_view topic);
  // Forgets the last answer: a producer was told that the topic is not there.
  void Forget(std::string_view topic);
  // The partition's start, or its end: the last stable offset. Not asked through the client that
  // reads the partition: a broker answers a connection's requests in turn, and a fetch there may
  // wait for records.
  StatusOr<int64_t> Offset(const TopicPartition& at, Edge edge, int64_t timeout_ns);
  // Whether the record's topic and partition exist.
  Status CheckTarget(const OutgoingRecord& record);
  // FailedPrecondition when a topic of ours is not stamped by the broker (LogAppendTime). Asks once
  // per topic.
  Status CheckTimestamps(std::string_view topic);

 private:
  struct Layout {
    int32_t partitions = 0;
    bool ready = false;  // every partition has a leader
  };

  Topics(const KafkaLogOptions& options, Clock* clock, std::unique_ptr<Client> client)
      : options_(options), clock_(clock), client_(std::move(client)) {}

  StatusOr<Layout> Ask(std::string_view topic, int64_t timeout_ns);
  Status Create(std::string_view topic, const TopicConfig& config);
  // Checks timestamp type and, when given, the clean-up policy.
  Status CheckConfig(std::string_view topic, const TopicConfig* wanted);
  StatusOr<StringMap<std::string>> Config(std::string_view topic);
  bool Foreign(std::string_view topic) const;
  // Runs one admin request and returns its result event.
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
