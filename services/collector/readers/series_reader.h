// Interface for readers that produce this node's series, and factories for readers of the cores and
// of jobs. system/system_readers.h has the readers of the system.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/collector/metrics/counters.h"
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
