// Consumer group positions, read and stored without joining the groups. Thread-safe. Private to
// this module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/adapters/kafka/client.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {

class Groups {
 public:
  // Borrows `options` and `clock`.
  Groups(const KafkaLogOptions& options, Clock* clock) : options_(options), clock_(clock) {}

  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at);
  Status Store(std::string_view group, const TopicPartition& at, const CommittedOffset& to);

 private:
  // Clients by group, because librdkafka binds a client to one group. A process uses only a few
  // groups.
  StatusOr<std::shared_ptr<Client>> ClientOf(std::string_view group);

  // Makes one attempt within timeout_ns.
  StatusOr<std::optional<CommittedOffset>> Ask(rd_kafka_t* client, const TopicPartition& at,
                                               int64_t timeout_ns, std::string_view context);
  Status Tell(rd_kafka_t* client, const TopicPartition& at, const CommittedOffset& to,
              int64_t timeout_ns, std::string_view context);

  const KafkaLogOptions& options_;
  Clock* const clock_;
  Mutex mutex_;
  StringMap<std::shared_ptr<Client>> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::kafka
