// Takes encoded batches from the other threads to the log.
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
  std::string spool_dir;          // empty: none
  uint64_t spool_bytes = 1ull << 30;
  // Of one append. Well below the 1024 sequences within which a record that is sent twice is
  // noticed (time-model.md 1.1).
  size_t append_records = 256;
  size_t append_bytes = 1u << 20;
  int64_t first_backoff_ns = 100 * kNanosPerMilli;
  int64_t last_backoff_ns = 5 * kNanosPerSecond;
  size_t most_threads = 32;
};

// Each job is a lane: its records are appended in the order of Offer, by themselves, so that a
// partition that cannot be written holds up the jobs in it and no others. (A job lives in one
// partition; what order jobs have among each other does not matter.)
//
// With a spool, a record is on disk before the log gets it: first what is in flight, then what the
// spool has, then the queue, always in this order. So nothing below the bounds is lost, also when
// the process is killed. Without a spool, or while its disk fails, a full queue drops the oldest of
// the lane that has the most. A record that the log never takes (Append alone returns
// InvalidArgument: malformed, or too large for the broker) is dropped, counted, and shown by
// Health.
//
// One thread serves all lanes while appends are quick. One more begins when a lane has waited for
// kStuckNs behind appends that hang.
class Publisher {
 public:
  // Clock, appender, counters and cursors are borrowed.
  Publisher(const PublisherOptions& options, Clock& clock, Appender* appender, Counters* counters,
            ClientCursors* cursors);
  ~Publisher();

  // Opens the spool and starts.
  Status Start();
  // Thread-safe; never waits for the log. `note`: a ClientCursor, told to the cursors once the
  // record is durable; may be empty.
  void Offer(std::string key, std::string value, std::string note = "");
  // Publishes the queues, except of lanes that the log fails or whose spool is waiting: those go to
  // the spool. Waits for the appends that are under way. Idempotent.
  void Stop();

  ClientCursors* cursors() const { return cursors_; }
  // Unavailable: a lane has published nothing for kUnhealthyNs although it has records, the spool's
  // disk fails, or the log refused a record for good within the last kShowRefusedNs. Thread-safe;
  // never waits for the log.
  static constexpr int64_t kUnhealthyNs = 10 * kNanosPerSecond;
  static constexpr int64_t kShowRefusedNs = 60 * kNanosPerSecond;
  Status Health();

 private:
  struct InFlight {
    std::vector<PendingRecord> records;
    bool from_spool = false;
    bool spooled = false;  // also in the spool, up to `end`
    Spool::Position end;
  };
  struct Lane {
    uint64_t number = 0;
    std::deque<PendingRecord> queue;
    size_t queue_bytes = 0;
    InFlight in_flight;
    bool busy = false;     // a thread is at it
    int64_t since_ns = 0;  // when it last became busy or idle; monotonic
    int64_t ready_ns = 0;  // not before this moment
    int64_t backoff_ns = 0;
    size_t append_records = 0;  // 1 while looking for a record that the log refuses
    uint64_t served = 0;        // in which turn; the lane that waits longest is next
    bool log_failed = false;
    int64_t failing_since_ns = 0;  // monotonic, while log_failed
    std::string failure;           // the last error, while log_failed
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
  // The lane that is due now; else null, and how long until one is (-1: for none).
  Lane* Next(int64_t* wait_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status AddWorker(bool extra) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Succeed(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(Lane* lane, const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIdle(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropRefused(Lane* lane, const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts what is in flight and in the queue behind the spool. False: the disk would not.
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
      -1;                                        // of the last record refused for good; -1: none
  std::string refusal_ ABSL_GUARDED_BY(mutex_);  // its error
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool disk_failed_ ABSL_GUARDED_BY(mutex_) = false;    // said so already
  bool thread_failed_ ABSL_GUARDED_BY(mutex_) = false;  // said so already
};

}  // namespace pitwall::collector
