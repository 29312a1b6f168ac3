// State shared by an embedded log and the readers, appenders, and committers created from it.
#pragma once

#include <memory>
#include <string_view>

#include "services/adapters/embedded_log/background_threads.h"
#include "services/adapters/embedded_log/commit/commit_request.h"
#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/maintenance.h"
#include "services/adapters/embedded_log/recovery.h"
#include "services/adapters/embedded_log/topic_table.h"
#include "services/adapters/files/file.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::log {

// Thread-safe. Shared by the log, its appenders, and its committers, and closed by the log.
class LogCore {
 public:
  static StatusOr<std::shared_ptr<LogCore>> Open(const EmbeddedLogOptions& options, Clock* clock);
  ~LogCore();

  Status EnsureTopic(std::string_view name, const TopicConfig& config);
  TopicTable& topics() { return topics_; }
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
  Status LockDirectory();
  Status Start();
  // Sets writer_, maintenance_, and threads_, but does not start the threads.
  Status StartWriter(const Recovered& recovered);
  Status RequireWritable() const;
  Status RequireOpen();  // also requires a writable log

  const EmbeddedLogOptions options_;
  Clock* const clock_;
  const std::shared_ptr<CommittedState> state_;
  const std::shared_ptr<DamageLog> damage_;
  TopicTable topics_;
  // The following members are nullptr if the log is read-only. Otherwise, Start sets them once.
  std::unique_ptr<CommitWriter> writer_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<BackgroundThreads> threads_;

  Mutex close_mutex_;
  bool closed_ ABSL_GUARDED_BY(close_mutex_) = false;
  std::unique_ptr<files::DirectoryLock> lock_;
};

}  // namespace pitwall::log
