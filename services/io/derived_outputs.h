// Outputs that follow from a topic alone: they can be dropped, since their maker makes them again
// to the bit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall {

// Partition p of each output topic holds only what `group` wrote together with its position in
// partition p of the input topic. (The executor's decisions do not belong here: they do not follow
// from its input alone.)
struct DerivedOutputs {
  std::string group;
  std::string input;
  std::vector<std::string> outputs;
  // The first input offset that the maker needs after a start at this position.
  std::function<StatusOr<int64_t>(const CommittedOffset&)> needs_from;
};

}  // namespace pitwall
