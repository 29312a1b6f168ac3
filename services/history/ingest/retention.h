// Keeps the history within its limits on bytes and time. Raw samples of the oldest finished jobs
// are dropped first, then those jobs. A running job loses raw samples only if no finished job is
// left, oldest window first.
//
// The age of a job is the newest time in the store minus the job's last time, so that the clock
// alone does not age a job. The newest time counts only up to the wall time confirmed by an
// AgeClock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/age_clock.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition_ingest.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Call Start and Stop from one thread. Everything is borrowed.
class Retention {
 public:
  using IngestOf = std::function<PartitionIngest*(const StoredJobPtr&)>;
  Retention(Clock* clock, HistoryStore* store, const HistoryOptions* options, IngestOf ingest_of);
  ~Retention();
  // Accepts the time if the store is empty: call it before jobs arrive.
  Status Begin() { return AcceptedTime().status(); }
  void Start();
  void Stop();
  Status Health() const;

  // Runs one pass.
  Status Enforce();
  // True: the wall clock jumped ahead. No job is removed by its age until the jump has lasted a
  // day.
  bool suspended() const { return suspended_; }

 private:
  Status EnforceTime();
  // Accepted part of the wall time; nothing: not known yet.
  StatusOr<std::optional<int64_t>> AcceptedTime();
  Status EnforceBytes();

  Clock* const clock_;
  HistoryStore* const store_;
  const HistoryOptions& options_;
  const IngestOf ingest_of_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> suspended_{false};
  Mutex pass_mutex_;
  AgeClock age_clock_ ABSL_GUARDED_BY(pass_mutex_);
  std::optional<int64_t> saved_ns_ ABSL_GUARDED_BY(pass_mutex_);  // accepted time in the catalog
  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
};

uint64_t DiskBytes(const HistoryStore& store);

}  // namespace pitwall::history
