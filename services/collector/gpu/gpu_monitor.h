// Readings of the node's GPUs, taken by a thread of their own: a driver in trouble blocks its
// callers for seconds, and the node's beats must not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/collector/gpu/gpu_probe.h"
#include "services/collector/gpu/nvml.h"
#include "services/collector/gpu/xid_watch.h"
#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {

struct GpuReading {
  GpuRows rows;
  XidWatch::Gpu xids;
};

// Names of the series that GPUs give, sorted.
const std::vector<std::string>& GpuSeriesNames();

// Start and Stop from one thread; the rest from any.
class GpuMonitor {
 public:
  // The clock and the counters are borrowed.
  GpuMonitor(std::string library, Clock& clock, Counters* counters);
  ~GpuMonitor();

  void Start();
  // Waits for the reading that is under way: as long as the driver takes.
  void Stop();
  void SetPeriod(int64_t period_ns) { period_ns_.store(period_ns); }

  // The newest readings by GPU index; empty before the first one, and without GPUs. A GPU whose
  // readings are old (the driver blocks) has missing values; its XID errors are heard all the same.
  std::vector<GpuReading> Readings() const;
  // XID errors by code that belong to none of the GPUs.
  std::map<std::string, uint64_t> UnattributedXids() const { return xids_.Unattributed(); }
  // How many there are; 0 as long as nobody knows.
  size_t count() const { return count_.load(); }

 private:
  void Loop();
  bool Open();
  void ReadAll();

  const std::string library_;
  Clock& clock_;
  Counters* const counters_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<int64_t> period_ns_{500 * kNanosPerMilli};
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> count_{0};
  std::thread thread_;
  // The thread's own.
  std::unique_ptr<Nvml> nvml_;
  std::vector<std::unique_ptr<GpuProbe>> probes_;
  bool complained_ = false;
  XidWatch xids_;

  mutable Mutex mutex_;
  std::vector<GpuRows> readings_ ABSL_GUARDED_BY(mutex_);
  int64_t read_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic
};

// Series of some GPUs (empty: of all of them), as the monitor last saw them, and the XID errors
// that belong to none, as those of the GPU "unknown". The monitor is borrowed.
std::unique_ptr<SeriesReader> NewGpuReader(const ReaderContext& context, const GpuMonitor* monitor,
                                           std::vector<int> only);

}  // namespace pitwall::collector
