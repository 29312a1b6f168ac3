// Writes a tree as YAML text.
#pragma once

#include <string>

#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

// Returns block style, with scalars in double quotes unless they were unquoted and are safe
// without. Comments and aliases of the original text are lost.
std::string FormatYaml(const Node& root);

}  // namespace pitwall::yaml
