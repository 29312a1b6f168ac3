// Transfer of encoded batches from other threads to the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/publishing/publishing_lanes.h"
#include "services/io/io.h"

namespace pitwall::collector {

// Publishes the records of each job in a separate lane, in the order of the Offer calls. A
// partition that cannot be written therefore delays only its own jobs. (A job belongs to one
// partition, and order does not matter between jobs.)
//
// With a spool, every record is on disk before it is appended to the log. A lane first publishes
// its records in flight, then its spool, and then its queue. Records within the size limits are
// therefore never lost, even if the process is killed. Without a spool, or while its disk is
// failing, a full queue drops the oldest records of the largest lane. If the log permanently
// rejects a record, the record is dropped, counted, and reported by Health. (A rejection is
// permanent if an Append of only this record returns InvalidArgument, because the record is
// malformed or too large for the broker.)
//
// One thread serves all lanes while appends are fast. Another thread starts when a lane has waited
// kStuckNs for slow appends of other lanes.
class Publisher {
 public:
  // The caller owns the clock, the appender, the counters, and the cursors.
  Publisher(const PublisherOptions& options, Clock& clock, Appender* appender, Counters* counters,
            ClientCursors* cursors);
  ~Publisher();

  // Opens the spool and starts publishing.
  Status Start();
  // Enqueues a record without waiting for the log. Thread-safe. `note` is an encoded ClientCursor
  // that is applied to the cursors once the record is durable. It may be empty.
  void Offer(std::string key, std::string value, std::string note = "");
  // Publishes the queues and waits for appends in flight. Lanes with a failing log or a non-empty
  // spool move their queues to the spool instead. Idempotent.
  void Stop();

  ClientCursors* cursors() const { return cursors_; }
  // Returns Unavailable if a lane with records has not published any records for kUnhealthyNs, if
  // the spool's disk is failing, or if the log permanently rejected a record within the last
  // kShowRefusedNs. Thread-safe; never waits for the log.
  static constexpr int64_t kUnhealthyNs = PublishingLanes::kUnhealthyNs;
  static constexpr int64_t kShowRefusedNs = PublishingLanes::kShowRefusedNs;
  Status Health();

 private:
  struct Thread {
    explicit Thread(Clock* clock) : worker(clock, "publisher") {}
    bool idle = false;
    bool ended = false;
    Worker worker;
  };

  void Loop(Thread* self, bool extra);
  void Serve(PublishingLanes::Lane* lane);
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status AddThread(bool extra) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_threads_;
  Clock& clock_;
  Appender* const appender_;
  Counters* const counters_;
  ClientCursors* const cursors_;

  Mutex mutex_;
  PublishingLanes lanes_ ABSL_GUARDED_BY(mutex_);
  std::list<Thread> threads_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool thread_failed_ ABSL_GUARDED_BY(mutex_) = false;  // whether the failure has been logged
};

}  // namespace pitwall::collector
