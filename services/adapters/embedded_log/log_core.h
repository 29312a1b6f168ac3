// State shared by an embedded log and the readers, appenders, and committers created from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/recovery.h"
#include "services/adapters/embedded_log/topic_catalog.h"
#include "services/adapters/files/file.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/age_clock.h"
#include "services/base/text/strings.h"

namespace pitwall::log {

// Open topic. Immutable except for its retention.
struct LiveTopic {
  Topic topic;
  std::vector<CommittedState::Partition*> partitions;
};

// Thread-safe. Shared by the log, its appenders, and its committers; the log closes it.
class LogCore {
 public:
  static StatusOr<std::shared_ptr<LogCore>> Open(const EmbeddedLogOptions& options, Clock* clock);
  ~LogCore();

  Status EnsureTopic(std::string_view name, const TopicConfig& config);
  StatusOr<std::shared_ptr<const LiveTopic>> Find(
      std::string_view name);  // returns NotFound if missing
  StatusOr<CommittedState::Partition*> FindPartition(const TopicPartition& at);
  std::vector<std::string> TopicNames();

  // Resolves the partition of each record. Returns InvalidArgument if a record is too large or has
  // too many headers, and NotFound if the partition does not exist.
  StatusOr<std::vector<RoutedRecord>> Route(const std::vector<OutgoingRecord>& records);
  StatusOr<GroupPosition> MakePosition(std::string_view group, const TopicPartition& at,
                                       const CommittedOffset& to);
  Status Submit(CommitRequest* request);

  Status Sync();
  Status ApplyRetention();
  Status Maintain();
  void Close();  // stops the threads, flushes, and releases the directory lock

  const std::shared_ptr<CommittedState>& state() const { return state_; }
  const std::shared_ptr<DamageLog>& damage() const { return damage_; }
  Clock* clock() const { return clock_; }
  EmbeddedLogStats Stats();

 private:
  LogCore(const EmbeddedLogOptions& options, Clock* clock);
  Status Start();
  void AddTopic(const Topic& topic, Recovered* recovered)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(topics_mutex_);
  std::vector<std::shared_ptr<const LiveTopic>> AllTopics();
  // Reads the last wall time accepted for retention.
  Status LoadAge(bool has_records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_mutex_);
  // Returns the wall time accepted for deletions, or nothing if no data may currently be deleted by
  // age.
  std::optional<int64_t> AcceptedTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_mutex_);
  Status RetainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_mutex_);
  Status CompactLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_mutex_);
  Status RequireWritable() const;
  void Flush();  // thread that flushes at intervals
  void VerifyRest();
  void Keep();  // thread for retention, compaction, and checkpoints

  const EmbeddedLogOptions options_;
  Clock* const clock_;
  const std::shared_ptr<CommittedState> state_;
  const std::shared_ptr<DamageLog> damage_;
  std::unique_ptr<CommitWriter> writer_;  // nullptr if read-only; set once in Start

  Mutex topics_mutex_;
  StringMap<std::shared_ptr<const LiveTopic>> topics_ ABSL_GUARDED_BY(topics_mutex_);
  uint32_t next_topic_ ABSL_GUARDED_BY(topics_mutex_) = 1;

  // Checks of segments that were not verified at open. Used only by the keeper thread.
  std::vector<std::function<Status()>> to_verify_;
  Mutex maintenance_mutex_;  // guards deletion and rewriting of closed segments
  AgeClock age_clock_ ABSL_GUARDED_BY(maintenance_mutex_);
  std::optional<int64_t> saved_age_ns_ ABSL_GUARDED_BY(maintenance_mutex_);  // value in the file
  std::atomic<bool> retention_suspended_{false};
  std::atomic<int64_t> segments_deleted_{0};
  std::atomic<int64_t> compactions_{0};

  Mutex close_mutex_;
  bool closed_ ABSL_GUARDED_BY(close_mutex_) = false;
  std::unique_ptr<files::DirectoryLock> lock_;
  std::unique_ptr<Wakeup> wake_flusher_;
  std::unique_ptr<Wakeup> wake_keeper_;
  std::atomic<bool> stop_{false};
  std::thread flusher_;
  std::thread keeper_;
};

}  // namespace pitwall::log
