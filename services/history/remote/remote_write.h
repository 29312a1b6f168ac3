// Mirrors the raw series of all jobs to a Prometheus remote write 1.0 receiver (Prometheus,
// VictoriaMetrics, Thanos, Mimir). Delivery is at-least-once. Rule evaluation never depends on it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "services/history/remote/remote_write_worker.h"
#include "services/self_metrics/probe.h"

namespace pitwall::history {

// Start and Stop must be called from the same thread. The caller owns all pointers. The exposition
// may be null.
class RemoteWrite {
 public:
  RemoteWrite(Clock* clock, Log* log, HttpTransport* transport, MirrorOptions options,
              self_metrics::Exposition* exposition = nullptr);
  ~RemoteWrite();

  // Starts one thread per partition.
  void Start(const std::vector<int32_t>& partitions);
  void Stop();  // idempotent
  const RemoteCounters& counters() const { return counters_; }
  // Returns true if no samples are waiting to be sent.
  bool idle() const;

 private:
  void AddMetrics();

  Clock* const clock_;
  Log* const log_;
  HttpTransport* const transport_;
  const MirrorOptions options_;
  RemoteCounters counters_;
  std::vector<std::unique_ptr<RemoteWriteWorker>> mirrors_;
  self_metrics::Probe probe_;
};

}  // namespace pitwall::history
