// One partition of the telemetry, sent on by remote write. The log is the queue: what is not sent
// yet stays there, so memory is bounded by one reading, and the history waits for nothing.
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
  std::string group;  // whose position is kept in the log
  MirrorFilter filter;
  ReceiverOptions receiver;
  int64_t max_behind_ns = 7200 * kNanosPerSecond;
  int64_t linger_ns = kNanosPerSecond;  // samples wait so long for others
  // Sources repeat their schemas more often than this: so much is read before the first sample.
  int64_t warm_up_ns = 60 * kNanosPerSecond;
};

// Start and Stop from one thread. Everything is borrowed.
class RemoteWriteWorker {
 public:
  RemoteWriteWorker(Clock* clock, Log* log, HttpTransport* transport, const MirrorOptions* options,
                    RemoteCounters* counters, int32_t partition);
  ~RemoteWriteWorker();
  void Start();
  void Stop();

  int64_t lag() const { return lag_; }  // records; -1: it has not looked yet
  // Age of the oldest record that is not sent; 0: nothing waits.
  int64_t behind_ns() const;
  size_t series() const { return series_; }

 private:
  void Loop();
  Status Step();
  Status Open();
  // First offset whose record was appended at or after the time.
  StatusOr<int64_t> OffsetAt(PartitionReader* reader, int64_t time_ns) const;
  Status Read(int64_t timeout_ns);
  void Take(const Record& record);
  // The next record that is not in the samples that are gathered.
  int64_t Next() const;
  Status Flush();
  // `end`: of what is under way; -1: nothing is.
  Status Save(int64_t end);
  void CountDropped();

  // Wall time for dropping samples by their age.
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

  // The thread's own:
  codec::BatchDecoder decoder_;
  RemoteWriteEncoder mirror_;
  RemoteSender sender_;
  std::unique_ptr<PartitionReader> reader_;
  std::deque<Record> read_;  // what no sample was made of yet
  // Where the samples ended that were under way at the last stop: they are gathered as they were,
  // so that a request is one that the receiver has as a whole, or not at all.
  int64_t doubtful_end_ = -1;
  int64_t begin_ = 0;         // first offset that is sent: what lies before it warms up
  int64_t sent_ = -1;         // next offset to send, all before it is done
  LogFingerprint mark_;       // of the newest record that was read
  LogFingerprint sent_mark_;  // of the newest one that is done
  int64_t saved_ = -1;
  int64_t gathered_ns_ = 0;  // monotonic, when the first pending sample came
  std::string told_;

  Mutex mutex_;
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace pitwall::history
