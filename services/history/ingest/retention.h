// Retention that keeps the history within its limits on disk usage and age. Raw samples of the
// oldest finished jobs are dropped first, and then those jobs. A running job loses raw samples only
// if no finished job is left, oldest window first.
//
// The age of a job is the newest time in the store minus the job's last time, so that the clock
// alone does not age a job. The newest time counts only up to the wall time confirmed by an
// AgeClock.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/age_clock.h"
#include "services/base/system/worker.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition_ingest.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Start and Stop must be called from the same thread. Does not own its dependencies.
class Retention {
 public:
  using IngestOf = std::function<PartitionIngest*(const StoredJobPtr&)>;
  Retention(Clock* clock, HistoryStore* store, const HistoryOptions* options, IngestOf ingest_of);
  // Accepts the current time if the store is empty. Call this before jobs arrive.
  Status Begin() { return AcceptedTime().status(); }
  void Start();
  void Stop() { worker_.Stop(); }
  Status Health() const { return worker_.Health(); }

  // Enforces the limits once.
  Status Enforce();
  // Returns whether the wall clock has jumped ahead. While it returns true, no job is removed
  // because of its age. The new time is accepted after one day.
  bool suspended() const { return suspended_; }

 private:
  Status EnforceTime();
  // Returns the accepted wall time, or no value if no time has been accepted yet.
  StatusOr<std::optional<int64_t>> AcceptedTime();
  Status EnforceBytes();

  Clock* const clock_;
  HistoryStore* const store_;
  const HistoryOptions& options_;
  const IngestOf ingest_of_;
  std::atomic<bool> suspended_{false};
  Mutex pass_mutex_;
  AgeClock age_clock_ ABSL_GUARDED_BY(pass_mutex_);
  // The accepted time as stored in the catalog.
  std::optional<int64_t> saved_ns_ ABSL_GUARDED_BY(pass_mutex_);
  Worker worker_;
};

uint64_t DiskBytes(const HistoryStore& store);

}  // namespace pitwall::history
