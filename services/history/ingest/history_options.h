// Options of the history: retention, memory, and sealing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/adapters/files/file.h"
#include "services/base/clock.h"
#include "services/io/topics.h"

namespace pitwall::history {

struct HistoryOptions {
  std::string dir;
  int64_t max_bytes = int64_t{20} << 30;                             // on disk
  int64_t retention_ns = int64_t{30} * 24 * 3600 * kNanosPerSecond;  // since a job was heard of
  // Rows that are not sealed, and a quarter of it for what was read of sealed windows: open
  // segments, decoded columns.
  size_t memory_bytes = size_t{512} << 20;
  size_t cache_bytes() const { return memory_bytes / 4; }
  size_t head_bytes() const { return memory_bytes - cache_bytes(); }
  // A window is sealed so long after its end, in the job's time.
  int64_t grace_ns = 60 * kNanosPerSecond;
  // … or when rows of it have waited so long: bounds what a start reads again.
  int64_t seal_after_ns = 900 * kNanosPerSecond;
  int64_t save_interval_ns = kNanosPerSecond;
  // A job that is saved, sealed, and not used for this long, at most twice as long, leaves memory.
  int64_t unload_after_ns = 60 * kNanosPerSecond;
  // Limit on sealing at a stop. The next start reads the rest from the log.
  int64_t stop_ns = 5 * kNanosPerSecond;
  // Frames whose schema did not come for so long are given up.
  int64_t schema_wait_ns = 60 * kNanosPerSecond;
  // Partitions whose number has the remainder share_index after division by share_count.
  int32_t share_index = 0;
  int32_t share_count = 1;
  std::string telemetry_topic{kTelemetryTopic};
  std::string issues_topic{kIssuesTopic};
  std::string actions_topic{kActionsTopic};
  std::string captures_topic{kCapturesTopic};
  std::string notifications_topic{kNotificationsTopic};
  std::shared_ptr<files::DiskFaults> faults;  // tests only
};

}  // namespace pitwall::history
