// Table of resource usage by node, with minimum, maximum, and percentiles.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct ResourceRow {
  std::string node;
  std::string resource;  // cpu, io_wait, cpu_memory, gpu, gpu_memory, network_receive, etc.
  std::string metric;    // metric that provides the values
  std::string unit;      // ratio, bytes, or bytes_per_second
  std::string basis;     // "samples", or "10s" or "2m" for means over this interval
  uint64_t count = 0;
  double min = 0, max = 0, mean = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

// Returns rows by node and resource. GPU utilization and memory cover all samples of all GPUs on
// the node. CPU (1 - idle - iowait) and I/O wait are means over the node's cores. Network usage is
// the sum over the node's devices except loopback, by direction.
StatusOr<std::vector<ResourceRow>> MakeResourceTable(const History& history, const JobOverview& job,
                                                     TimeRange range, const ReadLimits& limits);

}  // namespace pitwall::history
