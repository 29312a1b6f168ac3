// Compaction and age-based retention. Retention deletes whole segments, oldest first.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/retention_clock.h"
#include "services/adapters/embedded_log/topic_table.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::log {

// Retention and compaction for all partitions. Only one thread at a time changes closed segments.
// Thread-safe.
class Maintenance {
 public:
  // Parts of the log that maintenance changes. All are borrowed.
  struct Parts {
    CommittedState* state = nullptr;
    TopicTable* topics = nullptr;
    CommitWriter* writer = nullptr;
    DamageLog* damage = nullptr;
  };
  // Borrows `options`.
  Maintenance(const EmbeddedLogOptions& options, const Parts& log, RetentionClock clock);

  // Deletes expired segments. Continues with the other partitions after an error and returns the
  // first error.
  Status Retain();
  // Applies retention and then compacts the partitions whose dirty share is high enough.
  Status RetainAndCompact();
  // Waits for running maintenance to finish and then closes the writer.
  Status CloseWriter();
  void AddTo(EmbeddedLogStats* stats) const;

 private:
  std::optional<int64_t> AcceptedTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status RetainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CompactLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EmbeddedLogOptions& options_;
  const Parts log_;
  Mutex mutex_;  // guards deletion and rewriting of closed segments
  RetentionClock clock_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> suspended_;  // last value of clock_, for readers that do not hold the lock
  std::atomic<int64_t> segments_deleted_{0};
  std::atomic<int64_t> compactions_{0};
};

}  // namespace pitwall::log
