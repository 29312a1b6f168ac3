// Resource usage by node: minimum, maximum, and percentiles.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct ResourceRow {
  std::string node;
  std::string resource;  // cpu, io_wait, cpu_memory, gpu, gpu_memory, network_receive, …
  std::string metric;    // source metric
  std::string unit;      // ratio, bytes, bytes_per_second
  std::string basis;     // source data: "samples", or means of "10s", "2m"
  uint64_t count = 0;
  double min = 0, max = 0, mean = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

// Rows by node and resource. GPU utilization and memory cover all samples of all GPUs of the node.
// CPU (1 - idle - iowait), I/O wait, and network use means over the node: CPU over its cores,
// network as the sum over its devices except loopback, by direction.
StatusOr<std::vector<ResourceRow>> MakeResourceTable(const History& history, const JobOverview& job,
                                                     TimeRange range, const ReadLimits& limits);

}  // namespace pitwall::history
