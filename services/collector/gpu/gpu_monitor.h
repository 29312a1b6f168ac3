// Background readings of the node's GPUs. A faulty driver can block its callers for seconds. A
// separate thread therefore calls the driver, so that the sampler's ticks are not delayed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"
#include "services/collector/gpu/gpu_probe.h"
#include "services/collector/gpu/nvml.h"
#include "services/collector/gpu/xid_watch.h"
#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {

struct GpuReading {
  GpuRows rows;
  XidWatch::Gpu xids;
};

// Returns the sorted names of all GPU series.
const std::vector<std::string>& GpuSeriesNames();

// Start and Stop must be called from the same thread; the other functions are thread-safe.
class GpuMonitor {
 public:
  // The caller owns the clock and the counters.
  GpuMonitor(std::string library, Clock& clock, Counters* counters);
  ~GpuMonitor() { Stop(); }

  void Start();
  // Stops the thread. Waits for the current reading, which takes as long as the driver blocks.
  void Stop();
  void SetPeriod(int64_t period_ns) { period_ns_.store(period_ns); }

  // Returns the latest readings by GPU index. The result is empty before the first reading and if
  // there are no GPUs. If readings are outdated because the driver blocks, their values are
  // missing, but their XID errors are current.
  std::vector<GpuReading> Readings() const;
  // Returns the XID errors, by code, that the driver does not attribute to a GPU.
  std::map<std::string, uint64_t> UnattributedXids() const { return xids_.Unattributed(); }
  // Returns the number of GPUs; 0 until it is known.
  size_t count() const { return count_.load(); }

 private:
  void Loop();
  bool Open();
  void ReadAll();

  const std::string library_;
  Clock& clock_;
  Counters* const counters_;
  std::atomic<int64_t> period_ns_{500 * kNanosPerMilli};
  std::atomic<size_t> count_{0};
  // Used only by the monitor's thread.
  std::unique_ptr<Nvml> nvml_;
  std::vector<std::unique_ptr<GpuProbe>> probes_;
  bool complained_ = false;
  XidWatch xids_;

  mutable Mutex mutex_;
  std::vector<GpuRows> readings_ ABSL_GUARDED_BY(mutex_);
  int64_t read_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic

  Worker worker_;
};

// Reads the latest series of some GPUs, or of all GPUs if the list is empty. XID errors without a
// GPU are included under the GPU "unknown". The caller owns the monitor.
std::unique_ptr<SeriesReader> NewGpuReader(const ReaderContext& context, const GpuMonitor* monitor,
                                           std::vector<int> only);

}  // namespace pitwall::collector
