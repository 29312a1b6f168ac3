// Series of the collector of one node: names, labels, and values as in its readers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/loadgen/load_plan.h"
#include "services/model/telemetry.h"

namespace pitwall::loadgen {

// Effects of the job on the node at a tick.
struct NodeMood {
  bool working = true;                   // false if the job waits or does not exist
  int64_t lost_gpu = -1;                 // has fallen off the bus
  std::span<const int64_t> ranks;        // ranks with a live process
  std::span<const double> leaked_bytes;  // per rank
};

// Rows of the node's four streams (system, cores, GPUs, processes) between two batches. Ratios are
// k/n jiffies, GPU ratios whole percents, and power whole milliwatts; counters only grow. Owns the
// data to which the frames of the last AppendTo refer. Not thread-safe.
class NodeSeries {
 public:
  NodeSeries(const LoadPlan& plan, uint64_t seed, std::string node);

  void Sample(int64_t time_ns, const NodeMood& mood);
  // Appends frames and new schemas, or all schemas with `repeat`. The next Sample discards the
  // rows.
  void AppendTo(bool repeat, Batch* batch);
  uint64_t cells() const { return cells_; }  // of the last AppendTo

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
