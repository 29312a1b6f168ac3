// Keeps the history within its bounds of bytes and time: raw samples of the oldest finished jobs go
// first, then all that is kept of them. A running job loses raw samples only when no finished job
// is left, the oldest window first.
//
// The age of a job is the newest time in the store minus the job's last, so that a clock alone ages
// nothing. That newest time counts as far as wall time confirms it, by an AgeClock.
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

// Start and Stop from one thread. Everything is borrowed.
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

  // One pass.
  Status Enforce();
  // The wall clock jumped ahead: no job is removed by its age until the step has lasted a day.
  bool suspended() const { return suspended_; }

 private:
  Status EnforceTime();
  // Wall time as far as it is accepted; nothing: not known yet.
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
  std::optional<int64_t> saved_ns_ ABSL_GUARDED_BY(pass_mutex_);  // accepted time in the catalogue
  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
};

uint64_t DiskBytes(const HistoryStore& store);

}  // namespace pitwall::history
