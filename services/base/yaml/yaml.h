// YAML as an immutable tree in which every node and key has its position. This is the only
// interface to yaml-cpp, and it does not throw yaml-cpp's exceptions.
//
// Stricter than YAML, like go-yaml in Prometheus: one document, scalar keys, no duplicate keys.
// Merge keys (<<) are applied. Size, depth, number of nodes, and alias expansion are limited, so
// the tree size is proportional to the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/yaml/file_text.h"

namespace pitwall::yaml {

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr int kMaxDepth = 64;
inline constexpr size_t kMaxNodes = 200'000;  // after alias expansion

class Builder;

// Node of the tree. Cheap to copy: it references the shared tree, which stays alive while any of
// its nodes exists. Thread-safe.
class Node {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Node();  // creates a null node without a file

  Kind kind() const;
  bool IsNull() const { return kind() == Kind::kNull; }
  bool IsScalar() const { return kind() == Kind::kScalar; }
  bool IsSequence() const { return kind() == Kind::kSequence; }
  bool IsMap() const { return kind() == Kind::kMap; }
  // Returns "a string", "a list", "a map", or "nothing", for messages.
  std::string_view KindName() const;

  // Returns the text of a scalar after unquoting and folding, or "" for other nodes.
  const std::string& scalar() const;
  // Returns true for quoted and block scalars, which are never numbers or booleans.
  bool quoted() const;
  const std::vector<Node>& items() const;        // empty unless it is a sequence
  const std::vector<Entry>& entries() const;     // in file order; empty unless it is a map
  const Node* Find(std::string_view key) const;  // nullptr if absent

  Position position() const;
  const FileTextPtr& file() const;
  // Returns the file offsets of the bytes of scalar(), and of the position after the last byte.
  // Accounts for quotes, escapes, folding, and block indentation. Computed on each call.
  std::vector<uint32_t> ScalarOffsets() const;

  // Returns InvalidArgument with the message "file:line:col: what".
  Status Error(std::string_view what) const;

 private:
  friend class Builder;
  struct Data;
  explicit Node(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

struct Node::Entry {
  std::string key;
  Position key_position;
  Node value;
};

// Parses YAML text. `file_name` is used only in messages. Empty text results in a null node.
StatusOr<Node> ParseYaml(std::string_view file_name, std::string_view text);

struct Problem {
  Position position;
  std::string what;
};
Status ToStatus(const Node& node,
                const std::vector<Problem>&
                    problems);  // the first problems, joined; OK if no problem was found

// Reader for a map with known keys. Each getter declares one key, and Finish reports unknown keys
// with the nearest known name. Problems are collected, never thrown; a getter with a problem
// returns nothing.
class StrictMap {
 public:
  // `what`: name of the map in messages, e.g. "a rule". A null node counts as an empty map.
  StrictMap(const Node& node, std::string_view what, std::vector<Problem>* problems);

  // Returns the key's value, or nullptr if it is absent or null.
  const Node* Get(std::string_view key);
  // Returns the position of a key, or of the map if the key is absent.
  Position KeyPosition(std::string_view key) const;

  std::optional<std::string> String(std::string_view key);
  std::optional<int64_t> Int(std::string_view key, int64_t least, int64_t most);
  std::optional<double> Number(std::string_view key);
  std::optional<bool> Bool(std::string_view key);
  std::optional<int64_t> Duration(std::string_view key);
  std::optional<std::vector<std::string>> Strings(std::string_view key);
  // Returns a map of scalars in file order.
  std::vector<std::pair<std::string, const Node*>> Scalars(std::string_view key);

  void Add(Position position, std::string_view what);
  void Finish();

 private:
  void AddStatus(const Node& node, std::string_view key, const Status& status);

  const Node node_;
  std::string what_;
  std::vector<Problem>* problems_;
  std::vector<std::string_view> known_;
};

}  // namespace pitwall::yaml
