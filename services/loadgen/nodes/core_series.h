// Stream for a node's CPU cores in a simulated load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/loadgen/nodes/node_stream.h"

namespace pitwall::loadgen {

// CPU ratios are k/n, where k and n are whole jiffies. Not thread-safe.
class CoreSeries {
 public:
  CoreSeries(int64_t cores, uint64_t seed, const std::string& node);

  void Sample(const NodeTick& tick, const NodeMood& mood);
  // Returns the number of runnable threads. `work` scales the cores' load and is in [0, 1].
  double RunnableThreads(double work) const;
  NodeStream& stream() { return stream_; }

 private:
  struct Core {
    uint64_t seed = 0;
    double busy = 0;
    uint64_t jiffies[8] = {};
  };

  void Describe();

  NodeStream stream_;
  std::vector<Core> cores_;
};

}  // namespace pitwall::loadgen
