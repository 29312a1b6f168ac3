// Background threads for an open log.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/maintenance.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"

namespace pitwall::log {

// Two threads per log. The flusher flushes periodically. The keeper runs retention, compaction, and
// checkpoints. Errors are logged. Start and Stop must not run concurrently.
class BackgroundThreads {
 public:
  // Borrows `clock`.
  explicit BackgroundThreads(Clock* clock);
  ~BackgroundThreads() { Stop(); }

  // Returns functions that wake the threads. They stay valid for the lifetime of this object and
  // have no effect before Start.
  CommitWriter::Wake wake();
  // Starts the keeper and, if `flush_interval_ns` is positive, the flusher. The keeper also runs
  // `checks`, starting with the last one. Borrows `writer` and `maintenance`.
  void Start(CommitWriter* writer, Maintenance* maintenance, int64_t flush_interval_ns,
             std::vector<std::function<Status()>> checks);
  // Stops both threads and waits for them to exit. Idempotent.
  void Stop();

 private:
  void Flush();       // loop of the flusher
  void Keep();        // loop of the keeper
  void VerifyRest();  // runs the checks

  Clock* const clock_;
  CommitWriter* writer_ = nullptr;
  Maintenance* maintenance_ = nullptr;
  int64_t flush_interval_ns_ = 0;
  // Pending checks of segments that were not verified at open. Used only by the keeper thread.
  std::vector<std::function<Status()>> checks_;
  Worker flusher_;
  Worker keeper_;
};

}  // namespace pitwall::log
