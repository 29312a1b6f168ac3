#include "services/loadgen/nodes/node_series.h"

namespace pitwall::loadgen {

NodeSeries::NodeSeries(const LoadPlan& plan, uint64_t seed, const std::string& node)
    : interval_ns_(plan.interval_ns),
      system_(plan.node_memory_bytes, seed, node),
      cores_(plan.cores, seed, node),
      gpus_(plan.gpus, seed, node),
      processes_(seed, node) {}

void NodeSeries::Sample(int64_t time_ns, const NodeMood& mood) {
  if (taken_) {
    times_.clear();
    for (NodeStream* stream : Streams()) stream->values().clear();
    taken_ = false;
  }
  const double seconds =
      static_cast<double>(last_ns_ == 0 ? interval_ns_ : time_ns - last_ns_) / 1e9;
  last_ns_ = time_ns;
  times_.push_back(time_ns);
  const NodeTick tick{++tick_, seconds, times_.size() - 1};
  system_.Sample(tick, mood, cores_);
  cores_.Sample(tick, mood);
  gpus_.Sample(tick, mood);
  processes_.Sample(tick, mood);
}

void NodeSeries::AppendTo(bool repeat, Batch* batch) {
  cells_ = 0;
  taken_ = true;
  if (times_.empty()) return;
  for (NodeStream* stream : Streams()) cells_ += stream->AppendTo(repeat, times_, batch);
}

}  // namespace pitwall::loadgen
