// Open topics in a log, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/commit/commit_request.h"
#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/topic_catalog.h"
#include "services/adapters/embedded_log/recovery.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::log {

// Open topic. Immutable except for its retention.
struct LiveTopic {
  Topic topic;
  std::vector<CommittedState::Partition*> partitions;
};

// Table of the open topics. It creates topics and resolves the names in requests. Thread-safe.
class TopicTable {
 public:
  // Borrows `options` and `state`.
  TopicTable(const EmbeddedLogOptions& options, CommittedState* state)
      : options_(options), state_(state) {}

  // Adds the recovered topics and moves the contents of their partitions to the committed state.
  void AddRecovered(Recovered* recovered);
  // Creates the topic, or changes its retention if it exists. Calls `admit` before creating a
  // topic, and returns its error. If `writer` is nullptr, existing topics stay unchanged.
  Status Ensure(std::string_view name, const TopicConfig& config, CommitWriter* writer,
                const std::function<Status()>& admit);

  StatusOr<std::shared_ptr<const LiveTopic>> Find(
      std::string_view name);  // returns NotFound if missing
  StatusOr<CommittedState::Partition*> FindPartition(const TopicPartition& at);
  // Returns the topics in alphabetical order.
  std::vector<std::shared_ptr<const LiveTopic>> All();
  std::vector<std::string> Names();

  // Resolves the partition of each record. Returns InvalidArgument if a record is too large or has
  // too many headers, and NotFound if the partition does not exist.
  StatusOr<std::vector<RoutedRecord>> Route(const std::vector<OutgoingRecord>& records);
  StatusOr<GroupPosition> MakePosition(std::string_view group, const TopicPartition& at,
                                       const CommittedOffset& to);

 private:
  using Contents = std::map<PartitionKey, PartitionContent>;

  // Moves the contents of the topic's partitions out of `contents`.
  void Add(const Topic& topic, Contents* contents) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Create(std::string_view name, const TopicConfig& config, CommitWriter* writer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EmbeddedLogOptions& options_;
  CommittedState* const state_;
  Mutex mutex_;
  StringMap<std::shared_ptr<const LiveTopic>> topics_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_topic_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace pitwall::log
