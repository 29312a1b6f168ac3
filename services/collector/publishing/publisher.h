// Transfer of encoded batches from other threads to the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/publishing/spool_set.h"
#include "services/io/io.h"

namespace pitwall::collector {

struct PublisherOptions {
  std::string topic;
  size_t queue_bytes = 8u << 20;  // over all lanes
  std::string spool_dir;          // if empty, there is no spool
  uint64_t spool_bytes = 1ull << 30;
  // Maximum number of records per append. It must be well below 1024, the number of sequences
  // within which duplicates are detected (time-model.md 1.1).
  size_t append_records = 256;
  size_t append_bytes = 1u << 20;
  int64_t first_backoff_ns = 100 * kNanosPerMilli;
  int64_t last_backoff_ns = 5 * kNanosPerSecond;
  size_t most_threads = 32;
};

// Publishes the records of each job in a separate lane, in the order of Offer. A partition that
// cannot be written therefore delays only its own jobs. (A job belongs to one partition; the order
// of records of different jobs does not matter.)
//
// With a spool, every record is on disk before it is appended to the log. A lane publishes its
// records in flight first, then its spool, and then its queue. Records within the size limits are
// therefore never lost, even if the process is killed. Without a spool, or while its disk fails, a
// full queue drops the oldest records of the largest lane. If the log permanently rejects a record,
// the record is dropped, counted, and reported by Health. (In this case, an Append of only this
// record returns InvalidArgument, because the record is malformed or too large for the broker.)
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
  // Enqueues a record without waiting for the log. Thread-safe. `note` is an encoded ClientCursor,
  // which is applied to the cursors once the record is durable. It may be empty.
  void Offer(std::string key, std::string value, std::string note = "");
  // Publishes the queues and waits for appends in flight. Lanes with a failing log or a non-empty
  // spool move their queues to the spool instead. Idempotent.
  void Stop();

  ClientCursors* cursors() const { return cursors_; }
  // Returns Unavailable if a lane with records has not published any records for kUnhealthyNs, if
  // the spool's disk fails, or if the log permanently rejected a record within the last
  // kShowRefusedNs. Thread-safe; never waits for the log.
  static constexpr int64_t kUnhealthyNs = 10 * kNanosPerSecond;
  static constexpr int64_t kShowRefusedNs = 60 * kNanosPerSecond;
  Status Health();

 private:
  struct InFlight {
    std::vector<PendingRecord> records;
    bool from_spool = false;
    bool spooled = false;  // whether the records are also in the spool, up to `end`
    Spool::Position end;
  };
  struct Lane {
    uint64_t number = 0;
    std::deque<PendingRecord> queue;
    size_t queue_bytes = 0;
    InFlight in_flight;
    bool busy = false;     // whether a worker is serving the lane
    int64_t since_ns = 0;  // monotonic time at which the lane last became busy or idle
    int64_t ready_ns = 0;  // earliest time of the next append
    int64_t backoff_ns = 0;
    size_t append_records = 0;  // 1 during the search for a rejected record
    uint64_t served = 0;        // turn of the last service; the longest-waiting lane is next
    bool log_failed = false;
    int64_t failing_since_ns = 0;  // monotonic; valid while log_failed
    std::string failure;           // last error; valid while log_failed
  };
  struct Worker {
    std::unique_ptr<Wakeup> wakeup;
    std::thread thread;
    bool idle = false;
    bool ended = false;
  };
  using Lanes = std::map<uint64_t, std::unique_ptr<Lane>>;

  void Loop(Worker* self, bool extra);
  void Serve(Lane* lane);
  Lane* LaneFor(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Spool* SpoolOf(const Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork(const Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the next lane that is due. If no lane is due, returns nullptr and the time until a lane
  // is due (-1 if no lane has work).
  Lane* Next(int64_t* wait_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status AddWorker(bool extra) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Succeed(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(Lane* lane, const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIdle(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropRefused(Lane* lane, const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends the records in flight and the queued records to the spool. Returns false if the disk
  // fails.
  bool Spill(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(Lane* lane, int64_t queue_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Lane* Largest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropBeyondBound() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SpoolFailed(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PublisherOptions options_;
  Clock& clock_;
  Appender* const appender_;
  Counters* const counters_;
  ClientCursors* const cursors_;

  Mutex mutex_;
  std::unique_ptr<SpoolSet> spools_ ABSL_GUARDED_BY(mutex_);
  Lanes lanes_ ABSL_GUARDED_BY(mutex_);
  std::list<Worker> workers_ ABSL_GUARDED_BY(mutex_);
  size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t swept_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t refused_ns_ ABSL_GUARDED_BY(mutex_) =
      -1;  // time of the last permanently rejected record; -1 if there was none
  std::string refusal_ ABSL_GUARDED_BY(mutex_);  // error of that record
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool disk_failed_ ABSL_GUARDED_BY(mutex_) = false;    // whether the failure was already logged
  bool thread_failed_ ABSL_GUARDED_BY(mutex_) = false;  // whether the failure was already logged
};

}  // namespace pitwall::collector
