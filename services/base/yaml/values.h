// Typed values of YAML nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

// The following functions return InvalidArgument with the position of the node and its actual kind
// or value.
StatusOr<std::string> ToString(const Node& node);  // any scalar
StatusOr<int64_t> ToInt(const Node& node);
StatusOr<double> ToNumber(const Node& node);
StatusOr<bool> ToBool(const Node& node);  // true or false
// Returns a duration such as 30s in nanoseconds; never negative.
StatusOr<int64_t> ToDuration(const Node& node);
StatusOr<std::vector<std::string>> ToStrings(const Node& node);  // a list of scalars

}  // namespace pitwall::yaml
