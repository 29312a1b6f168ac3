#include "services/adapters/kafka/client.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

constexpr size_t kErrorText = 512;
constexpr size_t kMaxMetTopics = 1024;
constexpr int64_t kRetryNs = 50 * kNanosPerMilli;
constexpr size_t kMaxMetadata = 4096;  // the broker's offset.metadata.max.bytes

// Settings that users cannot change, because the guarantees in kafka_log.h depend on them or other
// options set them.
constexpr std::string_view kReserved[] = {
    "acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "bootstrap.servers",
    "check.crcs",
    "client.id",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "group.instance.id",
    "isolation.level",
    "linger.ms",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "message.max.bytes",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "metadata.broker.list",
    "partitioner",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "request.required.acks",
    "statistics.interval.ms",
    "transaction.timeout.ms",
    "transactional.id",
};

void OnLog(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  const auto line = [&] { return Cat(rd_kafka_name(client), " ", facility, ": ", text); };
  // Consumers and producers receive the same settings, so a setting for the other kind of client is
  // not an error.
  if (std::string_view(facility) == "CONFWARN") level = 7;
  // Without this setting, each client would log every request to an unavailable broker.
  if (std::string_view(facility) == "REQTMOUT") level = std::max(level, 6);
  // Log level as a syslog number. Errors on individual connections (3) are retried, and the caller
  // receives relevant errors as a Status.
  if (level <= 2) {
    PITWALL_LOG(kError, "kafka", line());
  } else if (level <= 4) {
    PITWALL_LOG(kWarning, "kafka", line());
  } else if (level <= 6) {
    PITWALL_LOG(kInfo, "kafka", line());
  } else {
    PITWALL_LOG(kDebug, "kafka", line());
  }
}

// librdkafka has already logged this error.
void OnError(rd_kafka_t*, int error, const char*, void* opaque) {
  auto* state = static_cast<ClientState*>(opaque);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) state->all_brokers_down = true;
  if (error == RD_KAFKA_RESP_ERR__FATAL) state->fatal = true;
}

void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  const auto* state = static_cast<ClientState*>(opaque);
  if (state->on_delivery) state->on_delivery(*message);
}

Status PermissionDenied(std::string_view message) {
  return absl::PermissionDeniedError(ToAbsl(message));
}
Status Unauthenticated(std::string_view message) {
  return absl::UnauthenticatedError(ToAbsl(message));
}

}  // namespace

Client::~Client() {
  // Readers keep their own positions and do not join a group, so there is no group to leave.
  rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

Status MetTopics::Meet(std::string_view topic, int64_t timeout_ns) {
  {
    MutexLock lock(&mutex_);
    if (met_.contains(topic)) return OkStatus();
  }
  TopicPtr handle(rd_kafka_topic_new(producer_, std::string(topic).c_str(), nullptr));
  if (handle == nullptr) return ErrorStatus(rd_kafka_last_error(), Cat("topic ", topic));
  const rd_kafka_metadata_t* metadata = nullptr;
  const auto error =
      rd_kafka_metadata(producer_, 0, handle.get(), &metadata, TimeoutMs(timeout_ns));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return ErrorStatus(error, Cat("topic ", topic));
  rd_kafka_metadata_destroy(metadata);
  MutexLock lock(&mutex_);
  if (met_.size() >= kMaxMetTopics) met_.clear();
  met_[std::string(topic)] = std::move(handle);
  return OkStatus();
}

ClientConfig::ClientConfig(const KafkaLogOptions& options) : conf_(rd_kafka_conf_new()) {
  rd_kafka_conf_set_log_cb(conf_.get(), OnLog);
  rd_kafka_conf_set_error_cb(conf_.get(), OnError);
  Set("bootstrap.servers", options.brokers);
  Set("client.id", options.client_id);
  Set("socket.keepalive.enable", "true");
  Set("socket.nagle.disable", "true");
  Set("reconnect.backoff.ms", 50);
  Set("reconnect.backoff.max.ms", 1000);
  const int64_t socket_ns =
      std::min({options.request_timeout_ns, options.transaction_timeout_ns, 60 * kNanosPerSecond});
  Set("socket.timeout.ms", std::max(TimeoutMs(socket_ns), 1000));
  for (const auto& [key, value] : options.rdkafka) Set(key, value);
}

ClientConfig& ClientConfig::Set(std::string_view key, std::string_view value) {
  if (!status_.ok()) return *this;
  char error[kErrorText];
  if (rd_kafka_conf_set(conf_.get(), std::string(key).c_str(), std::string(value).c_str(), error,
                        sizeof(error)) != RD_KAFKA_CONF_OK) {
    // librdkafka's message may contain the value of the setting, which may be a password.
    const bool unknown =
        std::string_view(error).find("No such configuration property") != std::string_view::npos;
    status_ = InvalidArgument(
        Cat("kafka setting '", key, "': ",
            unknown ? "librdkafka has no such setting"
                    : "librdkafka rejected the value (or was built without this feature)"));
  }
  return *this;
}

ClientConfig& ClientConfig::Set(std::string_view key, int64_t value) {
  return Set(key, Cat(value));
}

ClientConfig& ClientConfig::SetProducer(const KafkaLogOptions& options, int64_t timeout_ns) {
  return Set("enable.idempotence", "true")
      .Set("acks", "all")
      .Set("compression.codec", options.rdkafka.contains("compression.codec")
                                    ? options.rdkafka.at("compression.codec")
                                    : "zstd")
      .Set("partitioner", "murmur2_random")
      .Set("linger.ms", FormatDouble(static_cast<double>(options.linger_ns) / kNanosPerMilli))
      .Set("message.max.bytes", options.max_record_bytes)
      .Set("message.timeout.ms", TimeoutMs(timeout_ns))
      .Set("queue.buffering.max.kbytes", options.append_queue_bytes >> 10);
}

StatusOr<std::unique_ptr<Client>> ClientConfig::Build(rd_kafka_type_t type,
                                                      std::unique_ptr<ClientState> state) {
  RETURN_IF_ERROR(status_);
  rd_kafka_conf_set_opaque(conf_.get(), state.get());
  if (state->on_delivery) rd_kafka_conf_set_dr_msg_cb(conf_.get(), OnDelivery);
  char error[kErrorText];
  rd_kafka_t* handle = rd_kafka_new(type, conf_.get(), error, sizeof(error));
  if (handle == nullptr) return InvalidArgument(Cat("kafka client: ", error));
  (void)conf_.release();  // the client now owns the configuration
  return std::make_unique<Client>(handle, std::move(state));
}

Status CheckOptions(const KafkaLogOptions& options) {
  if (options.brokers.empty())
    return InvalidArgument("kafka: brokers must be set (host:port,host:port)");
  if (options.client_id.empty()) return InvalidArgument("kafka: client_id must not be empty");
  for (const auto& [key, value] : options.rdkafka) {
    if (std::find(std::begin(kReserved), std::end(kReserved), key) != std::end(kReserved)) {
      return InvalidArgument(
          Cat("kafka setting '", key,
              "' is reserved because the log's guarantees depend on it or another option sets it"));
    }
  }
  const std::pair<std::string_view, int64_t> times[] = {
      {"request_timeout", options.request_timeout_ns},
      {"append_timeout", options.append_timeout_ns},
      {"commit_timeout", options.commit_timeout_ns},
      {"transaction_timeout", options.transaction_timeout_ns}};
  for (const auto& [name, ns] : times) {
    if (ns < kNanosPerSecond || ns > 900 * kNanosPerSecond) {
      return InvalidArgument(
          Cat("kafka: ", name, " must be between 1 s and 15 min (got ", FormatDuration(ns), ")"));
    }
  }
  if (options.commit_timeout_ns > options.transaction_timeout_ns) {
    return InvalidArgument("kafka: commit_timeout must not be longer than transaction_timeout");
  }
  if (options.linger_ns < 0 || options.linger_ns > kNanosPerSecond) {
    return InvalidArgument(Cat("kafka: linger must be between 0 and 1 s (got ",
                               FormatDuration(options.linger_ns), ")"));
  }
  if (options.max_record_bytes < 1000 || options.max_record_bytes > 100'000'000) {
    return InvalidArgument(Cat("kafka: max_record_bytes must be 1000 to 100000000 (got ",
                               options.max_record_bytes, ")"));
  }
  constexpr int64_t kMaxQueue = int64_t{2} << 30;
  if (options.append_queue_bytes < options.max_record_bytes + 1024 ||
      options.append_queue_bytes > kMaxQueue) {
    return InvalidArgument(
        Cat("kafka: append_queue_bytes must be large enough for one record and at most 2 GiB (got ",
            options.append_queue_bytes, ")"));
  }
  if (options.read_ahead_bytes < (64 << 10) || options.read_ahead_bytes > kMaxQueue) {
    return InvalidArgument(Cat("kafka: read_ahead_bytes must be 64 KiB to 2 GiB (got ",
                               options.read_ahead_bytes, ")"));
  }
  if (options.replication_factor != -1 &&
      (options.replication_factor < 1 || options.replication_factor > 1000)) {
    return InvalidArgument(
        Cat("kafka: replication_factor must be -1 (the broker's default) or 1 to 1000 (got ",
            options.replication_factor, ")"));
  }
  return OkStatus();
}

Status ErrorStatus(rd_kafka_resp_err_t error, std::string_view context, std::string_view detail) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return OkStatus();
  std::string message = Cat(context, ": ", rd_kafka_err2str(error));
  if (!detail.empty() && detail != rd_kafka_err2str(error)) CatTo(message, " (", detail, ")");
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return NotFound(message);
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      return ResourceExhausted(message);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return PermissionDenied(message);
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return Unauthenticated(message);
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return Aborted(message);
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
      return InvalidArgument(message);
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
      return DataLoss(message);
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
      return FailedPrecondition(message);
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
      return Unavailable(message);
    default:
      return Internal(message);
  }
}

Status RetryWhileUnavailable(Clock* clock, int64_t timeout_ns,
                             const std::function<Status(int64_t timeout_ns)>& attempt) {
  const int64_t deadline = clock->MonotonicNs() + timeout_ns;
  const std::unique_ptr<Wakeup> pause = clock->NewWakeup();
  for (int64_t left = timeout_ns;;) {
    Status status = attempt(left);
    if (!absl::IsUnavailable(status)) return status;
    left = deadline - clock->MonotonicNs();
    if (left <= kRetryNs) return status;
    pause->Wait(kRetryNs);
    left -= kRetryNs;
  }
}

int TimeoutMs(int64_t ns) {
  if (ns <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((ns - 1) / kNanosPerMilli + 1, INT_MAX));
}

std::string Name(std::string_view topic, int32_t partition) {
  return Cat(topic, " [", partition, "]");
}
std::string Name(const TopicPartition& at) { return Name(at.topic, at.partition); }

ListPtr OffsetList(const TopicPartition& at, int64_t offset, std::string_view metadata) {
  ListPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* entry =
      rd_kafka_topic_partition_list_add(list.get(), at.topic.c_str(), at.partition);
  entry->offset = offset;
  if (!metadata.empty()) {
    entry->metadata = std::malloc(metadata.size());  // the list frees the metadata
    PITWALL_CHECK(entry->metadata != nullptr);
    std::memcpy(entry->metadata, metadata.data(), metadata.size());
    entry->metadata_size = metadata.size();
  }
  return list;
}

Status CheckMetadata(std::string_view metadata, std::string_view context) {
  if (metadata.size() <= kMaxMetadata) return OkStatus();
  return InvalidArgument(Cat(context, ": metadata must be at most ", kMaxMetadata,
                             " bytes long (got ", metadata.size(), ")"));
}

rd_kafka_resp_err_t Produce(rd_kafka_t* producer, const OutgoingRecord& record, void* opaque,
                            bool block) {
  std::vector<rd_kafka_vu_t> fields;
  fields.reserve(7 + record.headers.size());
  rd_kafka_vu_t field{};
  field.vtype = RD_KAFKA_VTYPE_TOPIC;
  field.u.cstr = record.topic.c_str();
  fields.push_back(field);
  field.vtype = RD_KAFKA_VTYPE_PARTITION;
  field.u.i32 = record.partition == kByKey ? RD_KAFKA_PARTITION_UA : record.partition;
  fields.push_back(field);
  field.vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  field.u.i = RD_KAFKA_MSG_F_COPY | (block ? RD_KAFKA_MSG_F_BLOCK : 0);
  fields.push_back(field);
  // An empty key is a key of length 0 and is partitioned like any other key. data() of an empty
  // string is not null; a null pointer would mean that the key is missing.
  field.vtype = RD_KAFKA_VTYPE_KEY;
  field.u.mem.ptr = const_cast<char*>(record.key.data());
  field.u.mem.size = record.key.size();
  fields.push_back(field);
  field.vtype = RD_KAFKA_VTYPE_VALUE;
  field.u.mem.ptr = record.tombstone ? nullptr : const_cast<char*>(record.value.data());
  field.u.mem.size = record.tombstone ? 0 : record.value.size();
  fields.push_back(field);
  for (const auto& [name, value] : record.headers) {
    field.vtype = RD_KAFKA_VTYPE_HEADER;
    field.u.header.name = name.c_str();
    field.u.header.val = value.data();
    field.u.header.size = static_cast<ssize_t>(value.size());
    fields.push_back(field);
  }
  field.vtype = RD_KAFKA_VTYPE_OPAQUE;
  field.u.ptr = opaque;
  fields.push_back(field);
  const ErrorPtr error(rd_kafka_produceva(producer, fields.data(), fields.size()));
  return error == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error.get());
}

int64_t SizeOf(const OutgoingRecord& record) {
  size_t size = record.key.size() + (record.tombstone ? 0 : record.value.size());
  for (const auto& [name, value] : record.headers) size += name.size() + value.size();
  return static_cast<int64_t>(size);
}

Status CheckSize(const OutgoingRecord& record, int64_t max_record_bytes) {
  const int64_t size = SizeOf(record);
  if (size <= max_record_bytes) return OkStatus();
  return InvalidArgument(Cat("record for ", record.topic, " with key ",
                             Quote(std::string_view(record.key).substr(0, 100)), " is ", size,
                             " bytes; the limit is ", max_record_bytes, " (max_record_bytes)"));
}

}  // namespace pitwall::kafka
