// Keeps the history within its bounds of bytes and time: raw samples of the oldest finished jobs go
// first, then all that is kept of them. A running job loses raw samples only when no finished job
// is left, the oldest window first.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/insights/keep/keep_options.h"
#include "services/insights/keep/partition_ingest.h"
#include "services/insights/store/history_store.h"

namespace pitwall::insights {

// Start and Stop from one thread. Everything is borrowed.
class Retention {
 public:
  using IngestOf = std::function<PartitionIngest*(const KeptJobPtr&)>;
  Retention(Clock* clock, HistoryStore* store, const KeepOptions* options, IngestOf ingest_of);
  ~Retention();
  // Accepts the time if the store is empty: call it before jobs arrive.
  Status Begin() { return AcceptedTime().status(); }
  void Start();
  void Stop();
  Status Health() const;

  // One pass.
  Status Enforce();

 private:
  Status EnforceTime(int64_t now_ns);
  Status EnforceBytes();

  Clock* const clock_;
  HistoryStore* const store_;
  const KeepOptions& options_;
  const IngestOf ingest_of_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
};

uint64_t DiskBytes(const HistoryStore& store);

}  // namespace pitwall::insights
