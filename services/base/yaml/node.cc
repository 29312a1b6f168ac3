#include "services/base/text/strings.h"
#include "services/base/yaml/node_data.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

Node::Node() {
  static const std::shared_ptr<const Data> kEmpty = [] {
    auto data = std::make_shared<Data>();
    data->file = std::make_shared<FileText>("", "");
    return data;
  }();
  data_ = kEmpty;
}

Node::Kind Node::kind() const { return data_->kind; }
const std::string& Node::scalar() const { return data_->scalar; }
bool Node::quoted() const { return data_->quoted; }
const std::vector<Node>& Node::items() const { return data_->items; }
const std::vector<Node::Entry>& Node::entries() const { return data_->entries; }
Position Node::position() const { return data_->file->Locate(data_->offset); }
const FileTextPtr& Node::file() const { return data_->file; }

std::string_view Node::KindName() const {
  switch (kind()) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "a string";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

const Node* Node::Find(std::string_view key) const {
  for (const Entry& entry : data_->entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::vector<uint32_t> Node::ScalarOffsets() const {
  return MapScalar(data_->file->text(), data_->offset, data_->scalar);
}

Status Node::Error(std::string_view what) const {
  const Position at = position();
  return InvalidArgument(Cat(data_->file->name(), ":", at.line, ":", at.column, ": ", what));
}

Status ToStatus(const Node& node, const std::vector<Problem>& problems) {
  constexpr size_t kShown = 10;
  if (problems.empty()) return OkStatus();
  std::vector<std::string> lines;
  for (size_t i = 0; i < problems.size() && i < kShown; ++i) {
    const Problem& problem = problems[i];
    lines.push_back(Cat(node.file()->name(), ":", problem.position.line, ":",
                        problem.position.column, ": ", problem.what));
  }
  if (problems.size() > kShown) lines.push_back(Cat("and ", problems.size() - kShown, " more"));
  return InvalidArgument(Join(lines, "\n"));
}

}  // namespace pitwall::yaml
