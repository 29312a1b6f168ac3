// History options: retention, memory, and sealing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/adapters/files/file.h"
#include "services/base/clock.h"
#include "services/io/topics.h"

namespace pitwall::history {

// Names of the topics that the history reads.
struct HistoryTopics {
  std::string telemetry{kTelemetryTopic};
  std::string issues{kIssuesTopic};
  std::string actions{kActionsTopic};
  std::string captures{kCapturesTopic};
  std::string notifications{kNotificationsTopic};
};

struct HistoryOptions {
  std::string dir;
  int64_t max_bytes = int64_t{20} << 30;  // limit on disk usage
  // Maximum age of a job, measured from its last data.
  int64_t retention_ns = int64_t{30} * 24 * 3600 * kNanosPerSecond;
  // Memory limit. A quarter is for cached data of sealed windows (open segments and decoded
  // columns), and the rest is for unsealed rows.
  size_t memory_bytes = size_t{512} << 20;
  size_t cache_bytes() const { return memory_bytes / 4; }
  size_t head_bytes() const { return memory_bytes - cache_bytes(); }
  // Delay between the end of a window and its sealing, in the job's event time.
  int64_t grace_ns = 60 * kNanosPerSecond;
  // Maximum age of unsealed rows. It bounds the part of the log that is reread after a restart.
  int64_t seal_after_ns = 900 * kNanosPerSecond;
  int64_t save_interval_ns = kNanosPerSecond;
  // Idle time after which a saved and sealed job is unloaded. The actual time may be up to twice as
  // long.
  int64_t unload_after_ns = 60 * kNanosPerSecond;
  // Time limit for sealing on shutdown. At the next start, unsealed rows are reread from the log.
  int64_t stop_ns = 5 * kNanosPerSecond;
  // Time after which frames with a missing schema are dropped.
  int64_t schema_wait_ns = 60 * kNanosPerSecond;
  // This process owns the partitions whose number modulo share_count equals share_index.
  int32_t share_index = 0;
  int32_t share_count = 1;
  HistoryTopics topics;
  std::shared_ptr<files::DiskFaults> faults;  // for tests only
};

}  // namespace pitwall::history
