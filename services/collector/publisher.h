// Takes encoded batches from the other threads to the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/counters.h"
#include "services/collector/spool.h"
#include "services/pipeline/io.h"

namespace pitwall::collector {

struct PublisherOptions {
  std::string topic;
  size_t queue_bytes = 8u << 20;
  std::string spool_dir;  // empty: none
  uint64_t spool_bytes = 1ull << 30;
  // Of one append. Well below the 1024 sequences within which a record that is sent twice is
  // noticed (time.md 1.1).
  size_t append_records = 256;
  size_t append_bytes = 1u << 20;
  int64_t first_backoff_ns = 100 * kNanosPerMilli;
  int64_t last_backoff_ns = 5 * kNanosPerSecond;
};

// Appends in the order of Offer, on a thread of its own. While the log takes nothing, records go to
// the spool: first what is in flight and in the queue, then everything that is offered, until the
// spool is empty again. So the order is always spool, then queue, and nothing below the bounds is
// lost. Without a spool, or while its disk fails, the queue drops its oldest. A record that the log
// will never take (refused alone, as invalid or too large) is dropped.
class Publisher {
 public:
  // Clock, appender and counters are borrowed.
  Publisher(const PublisherOptions& options, Clock& clock, Appender* appender, Counters* counters);
  ~Publisher();

  // Opens the spool and starts.
  Status Start();
  // Thread-safe; never waits for the log.
  void Offer(std::string key, std::string value);
  // Publishes the queue, unless the log fails or a spool is waiting: then the queue goes to the
  // spool. Waits for the append that is under way. Idempotent.
  void Stop();

 private:
  struct InFlight {
    std::vector<PendingRecord> records;
    bool from_spool = false;
    bool spooled = false;  // also in the spool, up to `end`
    Spool::Position end;
  };

  void Loop();
  bool Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Succeed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts what is in flight and in the queue behind the spool. False: the disk would not.
  bool Spill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(PendingRecord record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropBeyondBound() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SpoolFailed(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitBackoff();

  const PublisherOptions options_;
  Clock& clock_;
  Appender* const appender_;
  Counters* const counters_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;

  Mutex mutex_;
  std::unique_ptr<Spool> spool_ ABSL_GUARDED_BY(mutex_);
  std::deque<PendingRecord> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  InFlight in_flight_ ABSL_GUARDED_BY(mutex_);
  size_t append_records_
      ABSL_GUARDED_BY(mutex_);  // 1 while looking for a record that the log refuses
  int64_t backoff_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool disk_failed_ ABSL_GUARDED_BY(mutex_) = false;  // said so already
  bool log_failed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::collector
