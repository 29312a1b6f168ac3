// Interface for readers that produce this node's series, and factories for system file readers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/readers/driver_counters.h"
#include "services/model/labels.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Owned and called by the sampler thread. Read stores a reading in the reader's own memory. Fill
// copies the reading without allocating memory. Values that cannot be read are counted and returned
// as missing. When an object is removed, so are its series.
class SeriesReader {
 public:
  virtual ~SeriesReader() = default;
  // Takes a reading. Returns true if the set of series has changed since the previous Read. The
  // first Read returns true if there are any series.
  virtual bool Read() = 0;
  // Appends the series, in the same order as the values from Fill.
  virtual void Describe(std::vector<SeriesDescriptor>* out) const = 0;
  // Writes one value per series to row[0…] and returns a pointer past the last value.
  virtual double* Fill(double* row) const = 0;
};

// Context shared by all readers. `root` is the parent of /proc and /sys.
struct ReaderContext {
  std::string root;
  std::string node;
  Counters* counters;
};

std::unique_ptr<SeriesReader> NewCpuReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewMemoryReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewNetworkReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewTcpReader(const ReaderContext& context);
// Reads the ports once per second, regardless of the interval, because reading a counter may
// involve a command to the adapter. The caller owns the clock.
std::unique_ptr<SeriesReader> NewInfinibandReader(const ReaderContext& context, const Clock& clock);
// Reads priority flow control pauses from network devices behind RDMA adapters, once every 10
// seconds, because drivers query the adapter's firmware. The caller owns the clock and the
// counters.
std::unique_ptr<SeriesReader> NewPfcReader(const ReaderContext& context, const Clock& clock,
                                           const DriverCounters& counters);
std::unique_ptr<SeriesReader> NewNfsReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewDiskReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewPressureReader(const ReaderContext& context);
// Reads how far the wall clock is ahead of the collector's event time. The caller owns `time`.
class MonotonicEventClock;
std::unique_ptr<SeriesReader> NewClockReader(const ReaderContext& context,
                                             const MonotonicEventClock& time);
std::unique_ptr<SeriesReader> NewLoadReader(const ReaderContext& context);
// Reads the job's cgroup (version 2). `path` is relative to /sys/fs/cgroup.
std::unique_ptr<SeriesReader> NewCgroupReader(const ReaderContext& context, std::string_view path);

// A local process of a job.
struct JobProcess {
  int64_t rank = 0;
  int64_t pid = 0;
  friend auto operator<=>(const JobProcess&, const JobProcess&) = default;
};
std::unique_ptr<SeriesReader> NewProcessReader(const ReaderContext& context,
                                               std::vector<JobProcess> processes);

// Formats a series as name{labels…} with the node label. Labels with empty values are omitted.
SeriesDescriptor NodeSeries(
    const ReaderContext& context, SeriesKind kind, std::string_view name,
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

// Returns the totals of "some avg10=… total=<µs>" and "full …" in a pressure file, in seconds. A
// total is MissingValue() if its line is absent.
struct PressureTotals {
  double some = 0;
  double full = 0;
};
PressureTotals ParsePressure(std::string_view text);

}  // namespace pitwall::collector
