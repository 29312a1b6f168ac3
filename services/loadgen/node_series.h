// Series that one node's collector emits, with the same names, labels, and values as the series
// from real readers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/loadgen/load_plan.h"
#include "services/model/telemetry.h"

namespace pitwall::loadgen {

// Job state that affects the node's values at a tick.
struct NodeMood {
  bool working = true;                   // false if the job is waiting or not running
  int64_t lost_gpu = -1;                 // index of the GPU that fell off the bus, or -1
  std::span<const int64_t> ranks;        // ranks with a running process
  std::span<const double> leaked_bytes;  // one element per rank
};

// Rows of the node's four streams (system, cores, GPUs, processes) since the last batch. The values
// have the resolution of the real sources: CPU ratios are k/n jiffies, GPU ratios are whole
// percentages, and power is in whole milliwatts. Counters never decrease. Owns the data that the
// frames from the last AppendTo call refer to. Not thread-safe.
class NodeSeries {
 public:
  NodeSeries(const LoadPlan& plan, uint64_t seed, std::string node);

  void Sample(int64_t time_ns, const NodeMood& mood);
  // Appends the frames and the new schemas, or all schemas if `repeat` is true. The next call to
  // Sample discards the rows.
  void AppendTo(bool repeat, Batch* batch);
  uint64_t cells() const { return cells_; }  // cells in the frames of the last AppendTo call

 private:
  static constexpr size_t kStreams = 4;
  struct Core {
    uint64_t seed = 0;
    double busy = 0;
    uint64_t jiffies[8] = {};
  };
  struct Stream {
    SharedSchema schema = Schema{};
    uint64_t announced = 0;
    std::vector<double> values;
  };

  void Describe();
  void DescribeGpus();
  void DescribeProcesses();
  void SampleSystem(double seconds, const NodeMood& mood, std::vector<double>* row);
  void SampleCores(double seconds, const NodeMood& mood, std::vector<double>* row);
  void SampleGpus(double seconds, const NodeMood& mood, std::vector<double>* row);
  void SampleProcesses(double seconds, const NodeMood& mood, std::vector<double>* row);
  SeriesDescriptor Series(
      SeriesKind kind, std::string_view name,
      std::initializer_list<std::pair<std::string_view, std::string>> labels) const;
  void SetSchema(size_t stream, std::vector<SeriesDescriptor> series);

  const LoadPlan& plan_;
  const uint64_t seed_;
  const std::string node_;
  uint64_t tick_ = 0;
  int64_t last_ns_ = 0;
  bool taken_ = false;
  std::vector<int64_t> times_;
  Stream streams_[kStreams];
  std::vector<Core> cores_;
  std::vector<double> network_;
  std::vector<double> disk_;
  std::vector<double> pressure_;
  double tcp_sent_ = 0;
  double load_ = 0;
  int64_t lost_gpu_ = -1;
  std::vector<double> energy_;
  std::vector<double> nvlink_;
  std::vector<int64_t> ranks_;
  std::vector<double> cpu_seconds_;
  double leaked_ = 0;
  uint64_t cells_ = 0;
};

}  // namespace pitwall::loadgen
