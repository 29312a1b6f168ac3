// Importer for Amazon SageMaker Debugger system metrics (`*.algo-N.json`, JSON lines), with
// Pitwall's canonical names (rules/metrics.yaml).
//
//   cpu     CPUUtilization, I/OWaitPercentage  system_cpu_utilization_ratio{node,cpu,mode}: "user"
//                                              is everything except idle and iowait; "idle" is
//                                              the rest
//   gpu     GPUUtilization                     hw_gpu_utilization_ratio{node,gpu}
//           GPUMemoryUtilization               hw_gpu_memory_usage_bytes{node,gpu} with a limit of
//                                              100, because the files have only percentages
//   memory  MemoryUsedPercent                  system_memory_utilization_ratio{node}
//   i/o     IOPS, …BytesPerSecond              system_disk_operations_total,
//                                              system_disk_io_bytes_total
//   network …BytesPerSecond                    system_network_io_bytes_total{device}, device is
//                                              algorithm or platform
//
// Rates become counters: a row's rate applies to the time since the previous row. Other types are
// ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

struct SystemMetricLimits {
  size_t line_bytes = size_t{1} << 16;
  size_t rate_rows = 20'000'000;  // rows are kept until Finish, because they may come in any order
};

// Reads files sequentially, in any order. Skips and counts invalid and overlong lines. Not
// thread-safe.
class SystemMetricsReader {
 public:
  explicit SystemMetricsReader(SeriesIndex* out, const SystemMetricLimits& limits = {})
      : out_(out), limits_(limits) {}

  void BeginFile(std::string name);
  // Reads the next bytes. Returns ResourceExhausted if a limit is exceeded.
  Status Feed(std::string_view bytes);
  // Ends the current file. Returns InvalidArgument with the first error if the file has lines but
  // none is valid. The reader then discards the file, and the next file may begin.
  Status EndFile();
  // Emits the rows that were waiting for rows in other files. Call it after the last file.
  Status Finish();
  // Skipped lines in files with at least one valid line.
  const lenient::SkippedRecords& skipped() const { return skipped_; }

 private:
  // Values for one core at one point in time.
  struct Core {
    double busy = 0, wait = 0;
    bool has_busy = false, has_wait = false;
  };
  struct CoreState {
    uint32_t idle_series = 0;
    std::map<int64_t, Core> open;  // by time, for ticks that do not have both values yet
  };

  Status Line();
  Status Row(std::string_view line);
  Status TakeCore(const std::string& node, const std::string& cpu, bool wait, int64_t time_ns,
                  double share);
  Status TellIdle(const CoreState& core, int64_t time_ns, const Core& at);
  Status Tell(Labels labels, int64_t time_ns, double value);

  SeriesIndex* const out_;
  const SystemMetricLimits limits_;
  std::string name_;
  uint32_t line_ = 1;
  std::string rest_;
  bool too_long_ = false;  // the current line is too long
  lenient::SkippedRecords skipped_of_file_{"line"};
  lenient::SkippedRecords skipped_{"line"};  // of earlier files
  std::map<std::pair<std::string, std::string>, CoreState> cores_;
  std::map<uint32_t, std::vector<std::pair<int64_t, double>>> rates_;  // by series
  size_t rate_rows_ = 0;
};

}  // namespace pitwall::imports
