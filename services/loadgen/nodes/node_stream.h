// Stream for one node in a simulated load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::loadgen {

// Job state that affects the node's values at a tick.
struct NodeMood {
  bool working = true;                   // false if the job is waiting or not running
  int64_t lost_gpu = -1;                 // index of the GPU that fell off the bus, or -1
  std::span<const int64_t> ranks;        // ranks with a running process
  std::span<const double> leaked_bytes;  // one element per rank
};

// Tick at which all streams of a node get one row.
struct NodeTick {
  uint64_t number;   // from 1
  double seconds;    // since the previous tick
  size_t past_rows;  // rows of earlier ticks in the batch
};

// Schema of one stream, and its rows since the last batch. Owns the data that the frames from the
// last AppendTo call refer to. Not thread-safe.
class NodeStream {
 public:
  // `number` starts at 1. Every series gets the `node` label.
  NodeStream(uint32_t number, std::string node) : number_(number), node_(std::move(node)) {}

  SeriesDescriptor Series(
      SeriesKind kind, std::string_view name,
      std::initializer_list<std::pair<std::string_view, std::string>> labels) const;
  void SetSchema(std::vector<SeriesDescriptor> series);
  // Returns the number of series in the schema.
  size_t width() const { return schema_->series.size(); }
  // Values of all rows, row by row.
  std::vector<double>& values() { return values_; }
  // Appends a frame with the rows and, if the schema is new or `repeat` is true, the schema. Does
  // nothing until the first series is added. Returns the number of cells.
  size_t AppendTo(bool repeat, std::span<const int64_t> times, Batch* batch);

 private:
  uint32_t number_;
  std::string node_;
  SharedSchema schema_ = Schema{};
  uint64_t announced_ = 0;  // ID of the schema in the last batch; 0 before the first batch
  std::vector<double> values_;
};

// Rounds a size down to a whole number of memory pages.
double Pages(double bytes);

// Resident memory of a rank without leaks, in bytes.
inline constexpr double kRankBytes = 6 * 1024.0 * 1024 * 1024;

}  // namespace pitwall::loadgen
