// Outputs that are a pure function of one input topic. They can be dropped because their producer
// recreates them bit-identically.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall {

// Partition p of each output topic contains only records that `group` wrote together with its
// position in partition p of the input topic. (The executor's decisions do not qualify, because
// they depend on more than the input topic.)
struct DerivedOutputs {
  std::string group;
  std::string input;
  std::vector<std::string> outputs;
  // Returns the first input offset that the producer needs when it starts at this position.
  std::function<StatusOr<int64_t>(const CommittedOffset&)> needs_from;
};

}  // namespace pitwall
