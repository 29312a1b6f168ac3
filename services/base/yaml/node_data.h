// Data of a Node. Private to this module.
#pragma once

#include <string>
#include <vector>

#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

struct Node::Data {
  Kind kind = Kind::kNull;
  bool quoted = false;
  // Offset of the node's first byte in the file, including properties (&anchor, !!tag).
  uint32_t offset = 0;
  size_t weight = 1;  // number of nodes in the subtree after alias expansion
  std::string scalar;
  std::vector<Node> items;
  std::vector<Entry> entries;
  FileTextPtr file;
};

// Implements Node::ScalarOffsets. `offset`: start of the node in `text`; `value`: its parsed value.
std::vector<uint32_t> MapScalar(std::string_view text, size_t offset, std::string_view value);

}  // namespace pitwall::yaml
