// Mirror of the raw series of all jobs to a receiver of Prometheus remote write 1.0 (Prometheus,
// VictoriaMetrics, Thanos, Mimir). At least once. Verdicts never depend on it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "services/history/remote/remote_write_worker.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::history {

// Call Start and Stop from one thread. Everything is borrowed.
class RemoteWrite {
 public:
  RemoteWrite(Clock* clock, Log* log, HttpTransport* transport, MirrorOptions options);
  ~RemoteWrite();

  // Starts one thread per partition.
  void Start(const std::vector<int32_t>& partitions);
  void Stop();  // idempotent
  void RegisterMetrics(self_metrics::Exposition* exposition);
  const RemoteCounters& counters() const { return counters_; }
  // No sample waits to be sent.
  bool idle() const;

 private:
  Clock* const clock_;
  Log* const log_;
  HttpTransport* const transport_;
  const MirrorOptions options_;
  RemoteCounters counters_;
  std::vector<std::unique_ptr<RemoteWriteWorker>> mirrors_;
  std::vector<self_metrics::Registration> registrations_;
};

}  // namespace pitwall::history
