// Stream for the rank processes on a node in a simulated load.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/loadgen/nodes/node_stream.h"

namespace pitwall::loadgen {

// Not thread-safe.
class ProcessSeries {
 public:
  ProcessSeries(uint64_t seed, std::string node) : stream_(4, std::move(node)), seed_(seed) {}

  // Adds one row. If the set of ranks changes, earlier rows in the batch get missing values.
  void Sample(const NodeTick& tick, const NodeMood& mood);
  NodeStream& stream() { return stream_; }

 private:
  void Describe();

  NodeStream stream_;
  const uint64_t seed_;
  std::vector<int64_t> ranks_;
  std::vector<double> cpu_seconds_;  // by index in ranks_
};

}  // namespace pitwall::loadgen
