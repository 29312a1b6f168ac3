#include <algorithm>

#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::yaml {

StrictMap::StrictMap(const Node& node, std::string_view what, std::vector<Problem>* problems)
    : node_(node), what_(what), problems_(problems) {
  if (!node.IsMap() && !node.IsNull()) {
    Add(node.position(), Cat(what_, " must be a map, found ", node.KindName()));
  }
}

const Node* StrictMap::Get(std::string_view key) {
  known_.push_back(key);
  const Node* node = node_.Find(key);
  return node != nullptr && !node->IsNull() ? node : nullptr;
}

Position StrictMap::KeyPosition(std::string_view key) const {
  for (const Node::Entry& entry : node_.entries()) {
    if (entry.key == key) return entry.key_position;
  }
  return node_.position();
}

void StrictMap::Add(Position position, std::string_view what) {
  problems_->push_back({position, std::string(what)});
}

void StrictMap::AddStatus(const Node& node, std::string_view key, const Status& status) {
  // The typed accessors prepend "file:line:col: ", but a Problem stores its position separately.
  const Position at = node.position();
  const std::string prefix = Cat(node.file()->name(), ":", at.line, ":", at.column, ": ");
  std::string_view message = ToStd(status.message());
  if (StartsWith(message, prefix)) message.remove_prefix(prefix.size());
  Add(at, Cat(Quote(key), ": ", message));
}

std::optional<std::string> StrictMap::String(std::string_view key) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  StatusOr<std::string> value = ToString(*node);
  if (value.ok()) return *std::move(value);
  AddStatus(*node, key, value.status());
  return std::nullopt;
}

std::optional<int64_t> StrictMap::Int(std::string_view key, int64_t least, int64_t most) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  const StatusOr<int64_t> value = ToInt(*node);
  if (!value.ok()) {
    AddStatus(*node, key, value.status());
    return std::nullopt;
  }
  if (*value < least || *value > most) {
    Add(node->position(),
        Cat(Quote(key), ": ", *value, " is out of range, allowed is ", least, " to ", most));
    return std::nullopt;
  }
  return *value;
}

std::optional<double> StrictMap::Number(std::string_view key) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  const StatusOr<double> value = ToNumber(*node);
  if (value.ok()) return *value;
  AddStatus(*node, key, value.status());
  return std::nullopt;
}

std::optional<bool> StrictMap::Bool(std::string_view key) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  const StatusOr<bool> value = ToBool(*node);
  if (value.ok()) return *value;
  AddStatus(*node, key, value.status());
  return std::nullopt;
}

std::optional<int64_t> StrictMap::Duration(std::string_view key) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  const StatusOr<int64_t> value = ToDuration(*node);
  if (value.ok()) return *value;
  AddStatus(*node, key, value.status());
  return std::nullopt;
}

std::optional<std::vector<std::string>> StrictMap::Strings(std::string_view key) {
  const Node* node = Get(key);
  if (node == nullptr) return std::nullopt;
  StatusOr<std::vector<std::string>> value = ToStrings(*node);
  if (value.ok()) return *std::move(value);
  AddStatus(*node, key, value.status());
  return std::nullopt;
}

std::vector<std::pair<std::string, const Node*>> StrictMap::Scalars(std::string_view key) {
  std::vector<std::pair<std::string, const Node*>> out;
  const Node* node = Get(key);
  if (node == nullptr) return out;
  if (!node->IsMap()) {
    Add(node->position(), Cat(Quote(key), ": expected a map, found ", node->KindName()));
    return out;
  }
  for (const Node::Entry& entry : node->entries()) {
    if (entry.value.IsScalar() || entry.value.IsNull()) {
      out.emplace_back(entry.key, &entry.value);
    } else {
      Add(entry.value.position(),
          Cat(Quote(entry.key), ": expected a string, found ", entry.value.KindName()));
    }
  }
  return out;
}

void StrictMap::Finish() {
  for (const Node::Entry& entry : node_.entries()) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    Add(entry.key_position,
        Cat("unknown key ", Quote(entry.key), " in ", what_, DidYouMean(entry.key, known_)));
  }
}

}  // namespace pitwall::yaml
