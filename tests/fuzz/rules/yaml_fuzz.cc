// Fuzzes YAML. The result must be a tree with all positions within the file, or an error, but never
// an exception.
#include <cstdint>
#include <string_view>

#include "services/base/check.h"
#include "services/base/yaml/yaml.h"

namespace {

using pitwall::yaml::Node;

void Walk(const Node& node, int depth) {
  PITWALL_CHECK(depth <= pitwall::yaml::kMaxDepth);
  const pitwall::yaml::Position at = node.position();
  PITWALL_CHECK(at.line >= 1 && at.column >= 1);
  if (node.IsScalar()) {
    const std::vector<uint32_t> offsets = node.ScalarOffsets();
    PITWALL_CHECK(offsets.size() == node.scalar().size() + 1);
    for (const uint32_t offset : offsets) PITWALL_CHECK(offset <= node.file()->text().size());
  }
  for (const Node& item : node.items()) Walk(item, depth + 1);
  for (const Node::Entry& entry : node.entries()) {
    PITWALL_CHECK(node.Find(entry.key) != nullptr);
    Walk(entry.value, depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto node = pitwall::yaml::ParseYaml(
      "fuzz.yaml", std::string_view(reinterpret_cast<const char*>(data), size));
  if (node.ok()) Walk(*node, 0);
  return 0;
}
