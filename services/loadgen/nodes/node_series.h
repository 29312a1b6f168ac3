// Simulated series of one node's collector, with the same names, labels, and value resolution as
// the series from real readers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "services/loadgen/load_plan.h"
#include "services/loadgen/nodes/core_series.h"
#include "services/loadgen/nodes/gpu_series.h"
#include "services/loadgen/nodes/node_stream.h"
#include "services/loadgen/nodes/process_series.h"
#include "services/loadgen/nodes/system_series.h"
#include "services/model/telemetry.h"

namespace pitwall::loadgen {

// Rows of the node's four streams (system, cores, GPUs, processes) since the last batch. The values
// have the resolution of the real sources: CPU ratios are k/n, where k and n are whole jiffies, GPU
// ratios are whole percentages, and power is in whole milliwatts. Counters never decrease. Owns the
// data that the frames from the last AppendTo call refer to. Not thread-safe.
class NodeSeries {
 public:
  NodeSeries(const LoadPlan& plan, uint64_t seed, const std::string& node);

  void Sample(int64_t time_ns, const NodeMood& mood);
  // Appends the frames and the new schemas, or all schemas if `repeat` is true. The next call to
  // Sample discards the rows.
  void AppendTo(bool repeat, Batch* batch);
  uint64_t cells() const { return cells_; }  // cells in the frames of the last AppendTo call

 private:
  // Returns the streams in the order of their numbers.
  std::array<NodeStream*, 4> Streams() {
    return {&system_.stream(), &cores_.stream(), &gpus_.stream(), &processes_.stream()};
  }

  const int64_t interval_ns_;
  uint64_t tick_ = 0;
  int64_t last_ns_ = 0;
  bool taken_ = false;
  std::vector<int64_t> times_;
  SystemSeries system_;
  CoreSeries cores_;
  GpuSeries gpus_;
  ProcessSeries processes_;
  uint64_t cells_ = 0;
};

}  // namespace pitwall::loadgen
