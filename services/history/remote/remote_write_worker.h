// Remote write of one telemetry partition. The log serves as the queue: unsent records stay in the
// log, so the memory is bounded by one read, and ingestion into the history never waits.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/age_clock.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/remote/remote_sender.h"
#include "services/history/remote/remote_write_encoder.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::history {

struct MirrorOptions {
  std::string topic;
  std::string group;  // consumer group whose position the log stores
  MirrorFilter filter;
  ReceiverOptions receiver;
  int64_t max_behind_ns = 7200 * kNanosPerSecond;
  int64_t linger_ns = kNanosPerSecond;  // maximum wait for more samples before a request is sent
  // Time span that is read before the first sample to learn schemas. Sources repeat their schemas
  // more often than that.
  int64_t warm_up_ns = 60 * kNanosPerSecond;
};

// Start and Stop must be called from the same thread. The caller owns all pointers.
class RemoteWriteWorker {
 public:
  RemoteWriteWorker(Clock* clock, Log* log, HttpTransport* transport, const MirrorOptions* options,
                    RemoteCounters* counters, int32_t partition);
  ~RemoteWriteWorker();
  void Start();
  void Stop();

  int64_t lag() const { return lag_; }  // in records; -1 if not known yet
  // Returns the age of the oldest unsent record, or 0 if no record is pending.
  int64_t behind_ns() const;
  size_t series() const { return series_; }

 private:
  void Loop();
  Status Step();
  Status Open();
  // Returns the offset of the first record that was appended at or after `time_ns`.
  StatusOr<int64_t> OffsetAt(PartitionReader* reader, int64_t time_ns) const;
  Status Read(int64_t timeout_ns);
  void Take(const Record& record);
  // Returns the offset of the first record whose samples have not been gathered yet.
  int64_t Next() const;
  Status Flush();
  // `end` is the end of the request in flight, or -1.
  Status Save(int64_t end);
  void CountDropped();

  // Returns the wall time that is used to drop old samples.
  int64_t AgeNow() const;

  Clock* const clock_;
  mutable Mutex age_mutex_;
  mutable AgeClock age_clock_ ABSL_GUARDED_BY(age_mutex_);
  Log* const log_;
  const MirrorOptions& options_;
  RemoteCounters& counters_;
  const TopicPartition at_;
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> lag_{-1}, oldest_ns_{0};
  std::atomic<size_t> series_{0};

  // The following members are used only by the worker's thread.
  codec::BatchDecoder decoder_;
  RemoteWriteEncoder mirror_;
  RemoteSender sender_;
  std::unique_ptr<PartitionReader> reader_;
  std::deque<Record> read_;  // records that were read but not yet encoded
  // End of the samples that were in flight at the last stop. These samples are gathered into the
  // same requests again, so that the receiver has either all samples of a request or none.
  int64_t doubtful_end_ = -1;
  int64_t begin_ = 0;         // first offset to send; earlier records are only for warm-up
  int64_t sent_ = -1;         // next offset to send; all earlier records are complete
  LogFingerprint mark_;       // mark of the newest record read
  LogFingerprint sent_mark_;  // mark of the newest complete record
  int64_t saved_ = -1;
  int64_t gathered_ns_ = 0;  // monotonic arrival time of the first pending sample
  std::string logged_error_;

  Mutex mutex_;
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace pitwall::history
