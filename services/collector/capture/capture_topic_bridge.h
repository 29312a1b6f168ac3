// Bridge that carries capture requests and results between the log and a collector.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// One thread reads pitwall.control and appends to it and to pitwall.captures. While the log rejects
// records, they wait in a bounded outbox, which drops the oldest records first. Thread-safe. The
// caller owns all arguments.
class CaptureTopicBridge {
 public:
  static constexpr size_t kMaxRecords = 256;
  static constexpr size_t kMaxBytes = 16u << 20;
  static constexpr int64_t kAskEveryNs = kNanosPerSecond;  // minimum interval per job
  static constexpr size_t kMaxJobs = 1024;                 // jobs tracked for kAskEveryNs

  CaptureTopicBridge(Clock* clock, Log* log, Appender* appender);
  ~CaptureTopicBridge();

  // Starts the thread. The thread calls `give` with each capture request, and `sample` (may be
  // null) with each interval change that affects a job's nodes.
  void Start(std::function<void(CaptureRequest)> give,
             std::function<void(const ActionEvent&)> sample = nullptr);
  void Stop();  // idempotent

  // Returns ResourceExhausted if a capture of the job was requested within the last kAskEveryNs.
  Status RequestCapture(const CaptureRequest& request);
  void Deliver(const RankCapture& capture);
  // Returns the number of dropped records.
  uint64_t dropped() const { return dropped_; }

 private:
  void Loop();
  // Reads pitwall.control and passes on the requests. NotFound: the topic does not exist yet.
  Status Read();
  void Take(const Record& record);
  // Publishes the outbox. Returns false if the log accepted no records.
  bool Flush();
  void Push(OutgoingRecord record);

  Clock* const clock_;
  Appender* const appender_;
  std::function<void(CaptureRequest)> give_;
  std::function<void(const ActionEvent&)> sample_;
  std::atomic<uint64_t> dropped_{0};
  TopicFollower control_;

  Mutex mutex_;
  std::deque<OutgoingRecord> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::pair<std::string, int64_t>> asked_
      ABSL_GUARDED_BY(mutex_);  // job and time of its last request
  Worker worker_;
};

}  // namespace pitwall::collector
