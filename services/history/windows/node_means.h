// Series derived by the history: the minimum, mean, and maximum across a node's cores and GPUs, for
// each row of samples from a source.
//
// node_cpu_utilization_{min,mean,max}_ratio (1 - idle - iowait of a core),
// node_cpu_iowait_{…}_ratio, node_gpu_utilization_{…}_ratio, node_gpu_memory_usage_{…}_bytes;
// label "node".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::history {

// Flag in the stream numbers of schemas with derived series. No source uses stream numbers this
// high.
inline constexpr uint32_t kMadeStream = 0x4000'0000;
inline bool IsMade(const Schema& schema) { return (schema.stream & kMadeStream) != 0; }

// Derived series of a schema. Immutable; depends only on the schema.
class NodeMeans {
 public:
  // Returns the derived series, or nullptr if the schema has none.
  static std::unique_ptr<const NodeMeans> Of(const Schema& schema);

  const SharedSchema& schema() const { return schema_; }
  // Appends the derived values for one row. A value is missing if no core or GPU has data for it.
  void Append(std::span<const double> row, std::vector<double>* out) const;

 private:
  // Expression for one core or GPU: the sum of `plus` minus the sum of `less`, plus 1 if `one` is
  // set.
  struct Part {
    bool one = false;
    std::vector<uint32_t> plus;
    std::vector<uint32_t> less;
  };
  NodeMeans() = default;
  void Add(const std::string& node, const std::string& before, const std::string& unit,
           std::vector<Part> parts, Schema* schema);

  SharedSchema schema_{Schema()};
  std::vector<std::vector<Part>> groups_;  // each group yields three series
};

}  // namespace pitwall::history
