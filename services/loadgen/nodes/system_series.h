// Stream for a node's memory, network, disks, pressure, and load in a simulated load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/loadgen/nodes/core_series.h"
#include "services/loadgen/nodes/node_stream.h"

namespace pitwall::loadgen {

// Counters never decrease. Not thread-safe.
class SystemSeries {
 public:
  SystemSeries(int64_t memory_bytes, uint64_t seed, const std::string& node);

  // Adds one row. `cores` are the cores of the same node.
  void Sample(const NodeTick& tick, const NodeMood& mood, const CoreSeries& cores);
  NodeStream& stream() { return stream_; }

 private:
  void Describe();

  NodeStream stream_;
  const int64_t memory_bytes_;
  const uint64_t seed_;
  std::vector<double> network_;
  std::vector<double> disk_;
  std::vector<double> pressure_;
  double tcp_sent_ = 0;
  double load_ = 0;
};

}  // namespace pitwall::loadgen
