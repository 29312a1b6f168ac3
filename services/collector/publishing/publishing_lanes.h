// The publisher's lanes: queues of records, their spools, and the appends in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/publishing/lane_spools.h"
#include "services/io/io.h"

namespace pitwall::collector {

struct PublisherOptions {
  std::string topic;
  size_t queue_bytes = 8u << 20;  // across all lanes
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

// Scheduler for publishing the records of all lanes. Each lane is served by at most one thread at a
// time, from Begin to End. Never waits for the log. Not thread-safe.
class PublishingLanes {
 public:
  struct Lane;

  static constexpr int64_t kUnhealthyNs = 10 * kNanosPerSecond;
  static constexpr int64_t kShowRefusedNs = 60 * kNanosPerSecond;

  // The caller owns the clock, the counters, and the cursors.
  PublishingLanes(const PublisherOptions& options, const Clock& clock, Counters* counters,
                  ClientCursors* cursors);
  ~PublishingLanes();

  // Opens the spool if it is enabled.
  Status Open();
  // Enqueues a record. Spools the records of a lane whose log is slow or failing. If the queues are
  // full, spools or drops records from the largest lane.
  void Add(PendingRecord record);
  // Returns whether a lane is due while another lane's append may block all threads.
  bool NeedsThread();

  // Returns the next lane that is due and marks it as busy. If no lane is due, returns nullptr and
  // the time until the next one is due (-1 if no lane has work). If `stopping`, ignores lanes with
  // a failing log or a spool.
  Lane* Begin(bool stopping, int64_t* wait_ns);
  // Takes the records for the next append from the spool or the queue.
  std::vector<OutgoingRecord> Take(Lane* lane);
  // Finishes serving a lane. `status` is the result of the append, or OK if there were no records.
  void End(Lane* lane, const Status& status);

  // Removes lanes without recent records, so that only active jobs use files and memory.
  void ForgetIdle();
  // Spools the remaining records once publishing has ended. Records that cannot be spooled are
  // lost.
  void Finish();
  // Returns the status for Publisher::Health.
  Status Health() const;

 private:
  struct InFlight;

  Lane* LaneFor(uint64_t number);
  bool HasWork(const Lane& lane);
  void TakeFromSpool(Lane* lane);
  void TakeFromQueue(Lane* lane);
  void Succeed(Lane* lane);
  void Fail(Lane* lane, const Status& status);
  void DropRefused(Lane* lane, const Status& status);
  // Appends the records in flight and the queued records to the spool until the disk fails.
  void Spill(Lane* lane);
  void Count(Lane* lane, int64_t queue_bytes);
  Lane* Largest();
  void DropBeyondBound();

  const PublisherOptions options_;
  const Clock& clock_;
  Counters* const counters_;
  ClientCursors* const cursors_;
  LaneSpools spools_;
  std::map<uint64_t, std::unique_ptr<Lane>> lanes_;
  size_t queue_bytes_ = 0;
  uint64_t turn_ = 0;
  int64_t swept_ns_ = 0;
  int64_t refused_ns_ = -1;  // time of the last permanently rejected record; -1 if there was none
  std::string refusal_;      // error of that record
};

}  // namespace pitwall::collector
