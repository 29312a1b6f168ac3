#include "services/base/yaml/builder.h"

#include "services/base/yaml/node_data.h"

namespace pitwall::yaml {

namespace {

std::shared_ptr<Builder::Data> DataAt(const std::shared_ptr<const Builder::Data>& at,
                                      Node::Kind kind) {
  auto data = std::make_shared<Builder::Data>();
  data->kind = kind;
  data->offset = at->offset;
  data->file = at->file;
  return data;
}

}  // namespace

Node Builder::Scalar(const Node& at, std::string text) {
  auto data = DataAt(at.data_, Node::Kind::kScalar);
  data->quoted = at.quoted();
  data->scalar = std::move(text);
  return Node(std::move(data));
}

Node Builder::Sequence(const Node& at, std::vector<Node> items) {
  auto data = DataAt(at.data_, Node::Kind::kSequence);
  for (const Node& item : items) data->weight += Weight(item);
  data->items = std::move(items);
  return Node(std::move(data));
}

Node Builder::Map(const Node& at, std::vector<Node::Entry> entries) {
  auto data = DataAt(at.data_, Node::Kind::kMap);
  for (const Node::Entry& entry : entries) data->weight += Weight(entry.value);
  data->entries = std::move(entries);
  return Node(std::move(data));
}

size_t Builder::Weight(const Node& node) { return node.data_->weight; }

}  // namespace pitwall::yaml
