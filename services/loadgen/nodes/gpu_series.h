// Stream for a node's GPUs in a simulated load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/loadgen/nodes/node_stream.h"

namespace pitwall::loadgen {

// GPU ratios are whole percentages, and power is in whole milliwatts. Not thread-safe.
class GpuSeries {
 public:
  GpuSeries(int64_t gpus, uint64_t seed, std::string node);

  // Adds one row. If the index of the lost GPU changes, the schema changes for all rows in the
  // batch.
  void Sample(const NodeTick& tick, const NodeMood& mood);
  NodeStream& stream() { return stream_; }

 private:
  void Describe();
  // Changes the schema. `gpu` is the index of the lost GPU, or -1.
  void Lose(int64_t gpu);

  NodeStream stream_;
  const uint64_t seed_;
  const std::string node_;
  int64_t lost_gpu_ = -1;
  std::vector<double> energy_;  // by GPU, in joules
  std::vector<double> nvlink_;  // by GPU, in bytes per direction
};

}  // namespace pitwall::loadgen
