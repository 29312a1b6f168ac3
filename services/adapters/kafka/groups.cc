#include "services/adapters/kafka/groups.h"

#include <utility>

namespace pitwall::kafka {
namespace {

constexpr size_t kMaxClients = 16;

}  // namespace

StatusOr<std::shared_ptr<Client>> Groups::ClientOf(std::string_view group) {
  if (group.empty()) return InvalidArgument("consumer group must not be empty");
  MutexLock lock(&mutex_);
  if (const auto it = clients_.find(group); it != clients_.end()) return it->second;
  ClientConfig config(options_);
  config.Set("group.id", group)
      .Set("enable.auto.commit", "false")
      .Set("enable.auto.offset.store", "false")
      // Waits for in-flight transactions that contain an offset of the group.
      .Set("isolation.level", "read_committed")
      .Set("allow.auto.create.topics", "false");
  ASSIGN_OR_RETURN(std::shared_ptr<Client> client,
                   config.Build(RD_KAFKA_CONSUMER, std::make_unique<ClientState>()));
  if (clients_.size() >= kMaxClients)
    clients_.clear();  // a client in use stays alive until its call ends
  clients_[std::string(group)] = client;
  return client;
}

StatusOr<std::optional<CommittedOffset>> Groups::Committed(std::string_view group,
                                                           const TopicPartition& at) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Client> client, ClientOf(group));
  const std::string context = Cat("position of group ", group, " in ", Name(at));
  StatusOr<std::optional<CommittedOffset>> answer = std::optional<CommittedOffset>();
  RETURN_IF_ERROR(
      RetryWhileUnavailable(clock_, options_.request_timeout_ns, [&](int64_t timeout_ns) {
        answer = Ask(client->get(), at, timeout_ns, context);
        return answer.status();
      }));
  return answer;
}

Status Groups::Store(std::string_view group, const TopicPartition& at, const CommittedOffset& to) {
  const std::string context = Cat("store the position of group ", group, " in ", Name(at));
  if (to.offset < 0)
    return InvalidArgument(Cat(context, ": offset must be at least 0 (got ", to.offset, ")"));
  RETURN_IF_ERROR(CheckMetadata(to.metadata, context));
  ASSIGN_OR_RETURN(const std::shared_ptr<Client> client, ClientOf(group));
  return RetryWhileUnavailable(clock_, options_.request_timeout_ns, [&](int64_t timeout_ns) {
    return Tell(client->get(), at, to, timeout_ns, context);
  });
}

StatusOr<std::optional<CommittedOffset>> Groups::Ask(rd_kafka_t* client, const TopicPartition& at,
                                                     int64_t timeout_ns, std::string_view context) {
  const ListPtr list = OffsetList(at, RD_KAFKA_OFFSET_INVALID);
  if (const auto error = rd_kafka_committed(client, list.get(), TimeoutMs(timeout_ns));
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, context);
  }
  const rd_kafka_topic_partition_t& found = list->elems[0];
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) return ErrorStatus(found.err, context);
  if (found.offset < 0) return std::optional<CommittedOffset>();
  CommittedOffset committed{.offset = found.offset, .metadata = {}};
  if (found.metadata != nullptr) {
    committed.metadata.assign(static_cast<const char*>(found.metadata), found.metadata_size);
  }
  return std::optional<CommittedOffset>(std::move(committed));
}

Status Groups::Tell(rd_kafka_t* client, const TopicPartition& at, const CommittedOffset& to,
                    int64_t timeout_ns, std::string_view context) {
  const ListPtr list = OffsetList(at, to.offset, to.metadata);
  // Uses a separate queue because the blocking call has no timeout.
  const QueuePtr queue(rd_kafka_queue_new(client));
  if (const auto error = rd_kafka_commit_queue(client, list.get(), queue.get(), nullptr, nullptr);
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, context);
  }
  const EventPtr event(rd_kafka_queue_poll(queue.get(), TimeoutMs(timeout_ns)));
  if (event == nullptr) return Unavailable(Cat(context, ": no response from the broker"));
  if (const auto error = rd_kafka_event_error(event.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, context, rd_kafka_event_error_string(event.get()));
  }
  const rd_kafka_topic_partition_list_t* answer = rd_kafka_event_topic_partition_list(event.get());
  if (answer == nullptr || answer->cnt != 1)
    return Internal(Cat(context, ": the response does not contain the partition"));
  return ErrorStatus(answer->elems[0].err, context);
}

}  // namespace pitwall::kafka
