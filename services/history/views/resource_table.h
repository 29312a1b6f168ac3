// Use of each node's resources: minimum, maximum, and percentiles.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct ResourceRow {
  std::string node;
  std::string resource;  // cpu, io_wait, cpu_memory, gpu, gpu_memory, network_receive, …
  std::string metric;    // what it was made of
  std::string unit;      // ratio, bytes, bytes_per_second
  std::string basis;     // of what: "samples", or means of "10s", "2m"
  uint64_t count = 0;
  double min = 0, max = 0, mean = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

// By node and resource. GPUs and their memory are of all samples of all GPUs of the node. CPU (1 -
// idle - iowait), I/O wait and network are of means over the node: CPU over its cores, network the
// sum over its devices but the loopback one, by direction.
StatusOr<std::vector<ResourceRow>> MakeResourceTable(const History& history, const JobOverview& job,
                                                     TimeRange range, const ReadLimits& limits);

}  // namespace pitwall::history
