// One producer of series of this node, and the factories of all that read text files of the system.
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

// Owned and called by the sampler thread. Read takes a reading into memory of its own; Fill hands
// it out without an allocation. What cannot be read is counted and gives missing values; what is
// gone leaves the set of series.
class SeriesReader {
 public:
  virtual ~SeriesReader() = default;
  // True when the set of series is another than after the Read before (or this is the first one and
  // has any).
  virtual bool Read() = 0;
  // Appends the series, in the order of Fill.
  virtual void Describe(std::vector<SeriesDescriptor>* out) const = 0;
  // Writes one value per series to row[0…] and returns where the next one belongs.
  virtual double* Fill(double* row) const = 0;
};

// What every reader needs. `root` is the parent of /proc and /sys.
struct ReaderContext {
  std::string root;
  std::string node;
  Counters* counters;
};

std::unique_ptr<SeriesReader> NewCpuReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewMemoryReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewNetworkReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewTcpReader(const ReaderContext& context);
// Reads the ports once a second, whatever the interval: a counter may cost a command to the
// adapter. The clock is borrowed.
std::unique_ptr<SeriesReader> NewInfinibandReader(const ReaderContext& context, const Clock& clock);
// Pauses of priority flow control of the network devices behind RDMA adapters, once in ten seconds:
// drivers ask the adapter's firmware for them. Both are borrowed.
std::unique_ptr<SeriesReader> NewPfcReader(const ReaderContext& context, const Clock& clock,
                                           const DriverCounters& counters);
std::unique_ptr<SeriesReader> NewNfsReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewDiskReader(const ReaderContext& context);
std::unique_ptr<SeriesReader> NewPressureReader(const ReaderContext& context);
// How far the wall clock is ahead of the collector's event time. Borrowed.
class EventTime;
std::unique_ptr<SeriesReader> NewClockReader(const ReaderContext& context, const EventTime& time);
std::unique_ptr<SeriesReader> NewLoadReader(const ReaderContext& context);
// `path`: of the job's cgroup below the cgroup file system (version 2).
std::unique_ptr<SeriesReader> NewCgroupReader(const ReaderContext& context, std::string_view path);

// A local process of a job.
struct JobProcess {
  int64_t rank = 0;
  int64_t pid = 0;
  friend auto operator<=>(const JobProcess&, const JobProcess&) = default;
};
std::unique_ptr<SeriesReader> NewProcessReader(const ReaderContext& context,
                                               std::vector<JobProcess> processes);

// name{labels…} with the node; labels with empty values are left out.
SeriesDescriptor NodeSeries(
    const ReaderContext& context, SeriesKind kind, std::string_view name,
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

// "some avg10=… total=<µs>" and "full …" of a pressure file, in seconds; missing where absent.
struct PressureTotals {
  double some = 0;
  double full = 0;
};
PressureTotals ParsePressure(std::string_view text);

}  // namespace pitwall::collector
