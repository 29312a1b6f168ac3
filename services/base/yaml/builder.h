// Creates nodes that no text contains, such as a copy of a node with other values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

class Builder {
 public:
  using Data = Node::Data;

  // The new node has the file and the position of `at`.
  static Node Scalar(const Node& at, std::string text);  // quoted if `at` is
  static Node Sequence(const Node& at, std::vector<Node> items);
  static Node Map(const Node& at, std::vector<Node::Entry> entries);

  // Returns the number of nodes in the subtree after alias expansion.
  static size_t Weight(const Node& node);
  static Node Wrap(std::shared_ptr<const Data> data) { return Node(std::move(data)); }
};

}  // namespace pitwall::yaml
