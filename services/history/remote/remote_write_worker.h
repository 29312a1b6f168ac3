// Remote write for one telemetry partition. The log serves as the queue: unsent records stay in the
// log, so the memory is bounded by one read, and ingestion into the history never waits.
#pragma once

#include <atomic>
#include <string>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/remote/mirror_position.h"
#include "services/history/remote/offset_search.h"
#include "services/history/remote/record_queue.h"
#include "services/history/remote/remote_sender.h"
#include "services/history/remote/remote_write_encoder.h"
#include "services/history/remote/sample_age.h"
#include "services/io/io.h"

namespace pitwall::history {

struct MirrorOptions {
  std::string topic;
  std::string group;  // consumer group under which the position is stored
  MirrorFilter filter;
  ReceiverOptions receiver;
  int64_t max_behind_ns = 7200 * kNanosPerSecond;
  int64_t linger_ns = kNanosPerSecond;  // maximum wait for more samples before a request is sent
  // Reading starts this long before the first sample, so that the schemas are known. Sources resend
  // their schemas more often than this.
  int64_t warm_up_ns = 60 * kNanosPerSecond;
};

// Start and Stop must be called from the same thread. The caller owns all pointers.
class RemoteWriteWorker {
 public:
  RemoteWriteWorker(Clock* clock, Log* log, HttpTransport* transport, const MirrorOptions* options,
                    RemoteCounters* counters, int32_t partition);
  ~RemoteWriteWorker() { Stop(); }
  void Start();
  void Stop() { worker_.Stop(); }

  int64_t lag() const { return lag_; }  // in records; -1 if not known yet
  // Returns the age of the oldest unsent record, or 0 if no record is pending.
  int64_t behind_ns() const;
  size_t series() const { return series_; }

 private:
  void Loop();
  Status Step();
  // Restores the position and starts reading.
  Status Open();
  // Sends the pending samples of the former log, and then starts reading the new log.
  Status StartOver();
  // Starts reading at the position, or earlier to warm up. Skips records that are too old to be
  // sent, and counts them if `count_skipped` is true.
  Status StartReading(OffsetSearch* search, bool count_skipped);
  Status Read(Duration timeout);
  // Encodes the records that were read. Returns true if a request is due because of its size, or
  // because it repeats the samples that were in flight at the last stop.
  bool Gather();
  void Take(const Record& record);
  // Sends the pending samples and saves the position after them.
  Status Flush();
  // Returns false if the worker is stopping. The samples are then still pending.
  StatusOr<bool> SendPending();
  void CountDropped();

  Clock* const clock_;
  Log* const log_;
  const MirrorOptions& options_;
  RemoteCounters& counters_;
  const TopicPartition at_;
  Worker worker_;  // declared before queue_, which uses its stop flag; the destructor calls Stop
  std::atomic<int64_t> lag_{-1}, oldest_ns_{0};
  std::atomic<size_t> series_{0};

  // The following members are used only by the worker's thread.
  codec::BatchDecoder decoder_;
  RemoteWriteEncoder mirror_;
  RemoteSender sender_;
  SampleAge age_;
  RecordQueue queue_;  // Stop interrupts it
  MirrorPosition position_;
  int64_t gathered_ns_ = 0;  // monotonic arrival time of the first pending sample
  std::string logged_error_;
};

}  // namespace pitwall::history
