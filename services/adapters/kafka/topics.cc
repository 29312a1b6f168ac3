#include "services/adapters/kafka/topics.h"

#include <algorithm>
#include <utility>

namespace pitwall::kafka {
namespace {

// Cache limit. A deployment has few topics, but unknown names from callers must not make the map
// grow without bound.
constexpr size_t kMaxKnown = 1024;
constexpr int64_t kLeaderPollNs = 20 * kNanosPerMilli;

Status CheckName(std::string_view topic) {
  const bool legal = !topic.empty() && topic.size() <= 249 && topic != "." && topic != ".." &&
                     std::all_of(topic.begin(), topic.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                     });
  if (legal) return OkStatus();
  return InvalidArgument(Cat("topic ", Quote(topic.substr(0, 300)),
                             ": must be 1 to 249 characters of [a-zA-Z0-9._-]"));
}

std::string CleanupPolicy(const TopicConfig& config) {
  if (!config.compacted) return "delete";
  return config.retention_ms >= 0 ? "compact,delete" : "compact";
}

}  // namespace

StatusOr<std::unique_ptr<Topics>> Topics::Open(const KafkaLogOptions& options, Clock* clock) {
  // Uses a consumer, because only consumers can disable automatic topic creation.
  ClientConfig config(options);
  config.Set("allow.auto.create.topics", "false");
  // With this setting, the broker reports the last stable offset as the end of a partition.
  config.Set("isolation.level", "read_committed");
  ASSIGN_OR_RETURN(auto client, config.Build(RD_KAFKA_CONSUMER, std::make_unique<ClientState>()));
  return std::unique_ptr<Topics>(new Topics(options, clock, std::move(client)));
}

bool Topics::Foreign(std::string_view topic) const {
  return std::find(options_.foreign_topics.begin(), options_.foreign_topics.end(), topic) !=
         options_.foreign_topics.end();
}

StatusOr<Topics::Layout> Topics::Ask(std::string_view topic, int64_t timeout_ns) {
  RETURN_IF_ERROR(CheckName(topic));
  const TopicPtr handle(rd_kafka_topic_new(client_->get(), std::string(topic).c_str(), nullptr));
  if (handle == nullptr) return ErrorStatus(rd_kafka_last_error(), Cat("topic ", topic));
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client_->get(), 0, handle.get(), &metadata, TimeoutMs(timeout_ns));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return ErrorStatus(error, Cat("topic ", topic));
  const std::unique_ptr<const rd_kafka_metadata_t, Deleter<rd_kafka_metadata_destroy>> owner(
      metadata);
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& found = metadata->topics[i];
    if (found.topic != topic) continue;
    // A new topic already has its partition count but no leaders yet.
    if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR &&
        (found.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || found.partition_cnt == 0)) {
      return ErrorStatus(found.err, Cat("topic ", topic));
    }
    Layout layout{.partitions = found.partition_cnt, .ready = found.partition_cnt > 0};
    for (int p = 0; p < found.partition_cnt; ++p) {
      if (found.partitions[p].leader < 0) layout.ready = false;
    }
    return layout;
  }
  return NotFound(Cat("topic ", topic, ": does not exist on the broker"));
}

StatusOr<int32_t> Topics::Partitions(std::string_view topic) {
  StatusOr<Layout> layout = Layout{};
  RETURN_IF_ERROR(
      RetryWhileUnavailable(clock_, options_.request_timeout_ns, [&](int64_t timeout_ns) {
        layout = Ask(topic, timeout_ns);
        return layout.status();
      }));
  MutexLock lock(&mutex_);
  if (partitions_.size() >= kMaxKnown) partitions_.clear();
  partitions_[std::string(topic)] = layout->partitions;
  return layout->partitions;
}

StatusOr<int32_t> Topics::KnownPartitions(std::string_view topic) {
  {
    MutexLock lock(&mutex_);
    if (const auto it = partitions_.find(topic); it != partitions_.end()) return it->second;
  }
  return Partitions(topic);
}

void Topics::Forget(std::string_view topic) {
  MutexLock lock(&mutex_);
  if (const auto it = partitions_.find(topic); it != partitions_.end()) partitions_.erase(it);
}

StatusOr<int64_t> Topics::Offset(const TopicPartition& at, Edge edge, int64_t timeout_ns) {
  int64_t offset = 0;
  RETURN_IF_ERROR(RetryWhileUnavailable(
      clock_, timeout_ns, [&](int64_t left_ns) { return AskOffset(at, edge, left_ns, &offset); }));
  return offset;
}

Status Topics::AskOffset(const TopicPartition& at, Edge edge, int64_t timeout_ns, int64_t* offset) {
  // rd_kafka_query_watermark_offsets would suffice, but before librdkafka 2.3 it blocks forever if
  // the broker is unavailable.
  const std::string context =
      Cat(Name(at), ": request its ", edge == Edge::kStart ? "start" : "end");
  const ListPtr list =
      OffsetList(at, edge == Edge::kStart ? RD_KAFKA_OFFSET_BEGINNING : RD_KAFKA_OFFSET_END);
  if (const auto error =
          rd_kafka_offsets_for_times(client_->get(), list.get(), TimeoutMs(timeout_ns));
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, context);
  }
  const rd_kafka_topic_partition_t& found = list->elems[0];
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) return ErrorStatus(found.err, context);
  if (found.offset < 0) return Unavailable(Cat(context, ": no response from the broker"));
  *offset = found.offset;
  return OkStatus();
}

Status Topics::CheckTarget(const OutgoingRecord& record) {
  if (record.partition < kByKey) {
    return InvalidArgument(
        Cat("record for ", record.topic, ": invalid partition ", record.partition));
  }
  ASSIGN_OR_RETURN(int32_t partitions, KnownPartitions(record.topic));
  if (record.partition >= partitions) {  // partitions may have been added since
    ASSIGN_OR_RETURN(partitions, Partitions(record.topic));
  }
  if (record.partition >= partitions) {
    return NotFound(Cat(Name(record.topic, record.partition), ": no such partition; the topic has ",
                        partitions, " partitions"));
  }
  return OkStatus();
}

Status Topics::CheckTimestamps(std::string_view topic) {
  if (Foreign(topic)) return OkStatus();
  {
    MutexLock lock(&mutex_);
    if (stamped_.contains(topic)) return OkStatus();
  }
  return CheckConfig(topic, nullptr);
}

Status Topics::Ensure(std::string_view topic, const TopicConfig& config) {
  RETURN_IF_ERROR(CheckName(topic));
  if (config.partitions < 1)
    return InvalidArgument(
        Cat("topic ", topic, ": partitions must be at least 1 (got ", config.partitions, ")"));
  const int64_t deadline = clock_->MonotonicNs() + options_.request_timeout_ns;
  StatusOr<Layout> layout = Ask(topic, options_.request_timeout_ns);
  if (absl::IsNotFound(layout.status())) {
    RETURN_IF_ERROR(Create(topic, config));
    layout = Layout{};
  }
  // New partitions get leaders after a short delay. Without a leader, they do not accept reads or
  // writes.
  const std::unique_ptr<Wakeup> pause = clock_->NewWakeup();
  for (;;) {
    if (layout.ok() && layout->ready) break;
    if (!layout.ok() && !absl::IsNotFound(layout.status())) return layout.status();
    const int64_t left = deadline - clock_->MonotonicNs();
    if (left <= 0) return Unavailable(Cat("topic ", topic, ": its partitions have no leader yet"));
    pause->Wait(std::min(left, kLeaderPollNs));
    layout = Ask(topic, options_.request_timeout_ns);
  }
  if (layout->partitions != config.partitions) {
    return FailedPrecondition(Cat("topic ", topic, " has ", layout->partitions,
                                  " partitions, expected ", config.partitions));
  }
  if (!Foreign(topic)) RETURN_IF_ERROR(CheckConfig(topic, &config));
  MutexLock lock(&mutex_);
  if (partitions_.size() >= kMaxKnown) partitions_.clear();
  partitions_[std::string(topic)] = layout->partitions;
  return OkStatus();
}

StatusOr<EventPtr> Topics::Request(
    rd_kafka_admin_op_t operation, std::string_view what,
    const std::function<void(rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>& send) {
  const QueuePtr queue(rd_kafka_queue_new(client_->get()));
  const std::unique_ptr<rd_kafka_AdminOptions_t, Deleter<rd_kafka_AdminOptions_destroy>> admin(
      rd_kafka_AdminOptions_new(client_->get(), operation));
  char error[256];
  const int timeout_ms = TimeoutMs(options_.request_timeout_ns);
  if (const auto bad =
          rd_kafka_AdminOptions_set_request_timeout(admin.get(), timeout_ms, error, sizeof(error));
      bad != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(bad, what, error);
  }
  send(admin.get(), queue.get());
  EventPtr event(rd_kafka_queue_poll(queue.get(), timeout_ms + 1000));
  if (event == nullptr) return Unavailable(Cat(what, ": no response from the broker"));
  if (const auto bad = rd_kafka_event_error(event.get()); bad != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(bad, what, rd_kafka_event_error_string(event.get()));
  }
  return event;
}

Status Topics::Create(std::string_view topic, const TopicConfig& config) {
  const std::string what = Cat("create topic ", topic);
  char error[256];
  const std::unique_ptr<rd_kafka_NewTopic_t, Deleter<rd_kafka_NewTopic_destroy>> made(
      rd_kafka_NewTopic_new(std::string(topic).c_str(), config.partitions,
                            options_.replication_factor, error, sizeof(error)));
  if (made == nullptr) return InvalidArgument(Cat(what, ": ", error));
  const std::pair<const char*, std::string> settings[] = {
      {"cleanup.policy", CleanupPolicy(config)},
      {"retention.ms", Cat(config.retention_ms < 0 ? -1 : config.retention_ms)},
      {"message.timestamp.type", "LogAppendTime"},
  };
  for (const auto& [key, value] : settings) {
    const auto bad = rd_kafka_NewTopic_set_config(made.get(), key, value.c_str());
    if (bad != RD_KAFKA_RESP_ERR_NO_ERROR) return ErrorStatus(bad, what, key);
  }
  rd_kafka_NewTopic_t* topics[] = {made.get()};
  ASSIGN_OR_RETURN(const EventPtr event,
                   Request(RD_KAFKA_ADMIN_OP_CREATETOPICS, what, [&](auto* admin, auto* queue) {
                     rd_kafka_CreateTopics(client_->get(), topics, 1, admin, queue);
                   }));
  size_t count = 0;
  const auto* result = rd_kafka_event_CreateTopics_result(event.get());
  const auto** results = rd_kafka_CreateTopics_result_topics(result, &count);
  if (count != 1)
    return Internal(Cat(what, ": the broker's response contains ", count, " topics instead of 1"));
  const auto bad = rd_kafka_topic_result_error(results[0]);
  if (bad == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
    return OkStatus();  // another client has created the topic, so it is checked as an existing one
  const char* detail = rd_kafka_topic_result_error_string(results[0]);
  return ErrorStatus(bad, what, detail == nullptr ? "" : detail);
}

StatusOr<StringMap<std::string>> Topics::Config(std::string_view topic) {
  const std::string what = Cat("read the configuration of topic ", topic);
  const std::unique_ptr<rd_kafka_ConfigResource_t, Deleter<rd_kafka_ConfigResource_destroy>>
      resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, std::string(topic).c_str()));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  ASSIGN_OR_RETURN(const EventPtr event,
                   Request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, what, [&](auto* admin, auto* queue) {
                     rd_kafka_DescribeConfigs(client_->get(), resources, 1, admin, queue);
                   }));
  size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConfigs_result(event.get());
  const auto** results = rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count != 1)
    return Internal(Cat(what, ": the broker's response contains ", count, " topics instead of 1"));
  if (const auto bad = rd_kafka_ConfigResource_error(results[0]);
      bad != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* detail = rd_kafka_ConfigResource_error_string(results[0]);
    return ErrorStatus(bad, what, detail == nullptr ? "" : detail);
  }
  StringMap<std::string> config;
  size_t entries = 0;
  const auto** entry = rd_kafka_ConfigResource_configs(results[0], &entries);
  for (size_t i = 0; i < entries; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entry[i]);
    config[rd_kafka_ConfigEntry_name(entry[i])] = value == nullptr ? "" : value;
  }
  return config;
}

Status Topics::CheckConfig(std::string_view topic, const TopicConfig* wanted) {
  StatusOr<StringMap<std::string>> config = Config(topic);
  if (absl::IsPermissionDenied(config.status())) {
    return Annotate(config.status(), "the ACL DescribeConfigs is required on the topic");
  }
  RETURN_IF_ERROR(config.status());
  const auto refuse = [&](std::string_view key, std::string_view value, std::string_view why) {
    return FailedPrecondition(
        Cat("topic ", topic, " has ", key, "=", (*config)[std::string(key)], "; ", why,
            ". To set it, run: ", "kafka-configs.sh --alter --entity-type topics --entity-name ",
            topic, " --add-config ", key, "=[", value, "]"));
  };
  if ((*config)["message.timestamp.type"] != "LogAppendTime") {
    return refuse("message.timestamp.type", "LogAppendTime",
                  "Pitwall checks clocks against the broker's append time");
  }
  if (wanted != nullptr) {
    const bool compacts = (*config)["cleanup.policy"].find("compact") != std::string::npos;
    if (compacts != wanted->compacted) {
      return refuse("cleanup.policy", CleanupPolicy(*wanted),
                    wanted->compacted ? "retention would delete the newest record of each key"
                                      : "compaction would delete older records of a key");
    }
  }
  MutexLock lock(&mutex_);
  if (stamped_.size() >= kMaxKnown) stamped_.clear();
  stamped_.emplace(topic);
  return OkStatus();
}

}  // namespace pitwall::kafka
