// Takes requests for captures from the log to a collector, and answers from it to the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// One thread reads pitwall.control and appends to it and to pitwall.captures. What a log that takes
// nothing leaves behind is bounded: the oldest is dropped. Thread-safe; everything is borrowed.
class CaptureTopicBridge {
 public:
  static constexpr size_t kMaxRecords = 256;
  static constexpr size_t kMaxBytes = 16u << 20;
  static constexpr int64_t kAskEveryNs = kNanosPerSecond;  // of one job
  static constexpr size_t kMaxJobs = 1024;                 // remembered for that

  CaptureTopicBridge(Clock* clock, Log* log, Appender* appender);
  ~CaptureTopicBridge();

  // `give` gets each request for a capture, `sample` each for another interval of a job's nodes
  // (null: nobody does), on the courier's thread.
  void Start(std::function<void(CaptureRequest)> give,
             std::function<void(const ActionEvent&)> sample = nullptr);
  void Stop();  // idempotent

  // ResourceExhausted: the job was asked a moment ago.
  Status Ask(const CaptureRequest& request);
  void Deliver(const RankCapture& capture);
  // Records that were dropped.
  uint64_t dropped() const { return dropped_; }

 private:
  void Loop();
  Status Read();
  // False: the log took nothing.
  bool Flush();
  void Push(OutgoingRecord record);

  Clock* const clock_;
  Log* const log_;
  Appender* const appender_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::function<void(CaptureRequest)> give_;
  std::function<void(const ActionEvent&)> sample_;
  std::unique_ptr<PartitionReader> reader_;  // the thread's
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> dropped_{0};
  std::thread thread_;

  Mutex mutex_;
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;  // that waits for records
  std::deque<OutgoingRecord> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::pair<std::string, int64_t>> asked_ ABSL_GUARDED_BY(mutex_);  // job, when
};

}  // namespace pitwall::collector
