// YAML as an immutable tree in which every node and every key knows its place. The only interface
// to yaml-cpp: its exceptions stop here.
//
// Stricter than YAML itself, as go-yaml is for Prometheus: one document, scalar keys, no key twice.
// Merge keys (<<) are applied. Size, depth, nodes and alias expansion are bounded, so no input
// grows beyond what its text suggests.
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

// A cheap value: a reference into the shared tree, which lives as long as any of its nodes.
// Thread-safe.
class Node {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Node();  // a null without a file

  Kind kind() const;
  bool IsNull() const { return kind() == Kind::kNull; }
  bool IsScalar() const { return kind() == Kind::kScalar; }
  bool IsSequence() const { return kind() == Kind::kSequence; }
  bool IsMap() const { return kind() == Kind::kMap; }
  // "a string", "a list", "a map" or "nothing", for messages.
  std::string_view KindName() const;

  // Scalars only, else "". The text after YAML's unquoting and folding.
  const std::string& scalar() const;
  // Written in quotes or as a block: never a number or a bool.
  bool quoted() const;
  const std::vector<Node>& items() const;        // sequences only, else empty
  const std::vector<Entry>& entries() const;     // maps only, in the order of the file, else empty
  const Node* Find(std::string_view key) const;  // nullptr when absent

  Position position() const;
  const FileTextPtr& file() const;
  // For each byte of scalar(), and one past its end, the offset in the file that it came from:
  // through quotes, escapes, folding and the indentation of blocks. Computed at each call.
  std::vector<uint32_t> ScalarOffsets() const;

  // InvalidArgument "file:line:col: what".
  Status Error(std::string_view what) const;

  // Typed readings; the error says what was found instead.
  StatusOr<std::string> AsString() const;  // any scalar
  StatusOr<int64_t> AsInt() const;
  StatusOr<double> AsNumber() const;
  StatusOr<bool> AsBool() const;                         // true or false
  StatusOr<int64_t> AsDuration() const;                  // nanoseconds, 30s; never negative
  StatusOr<std::vector<std::string>> AsStrings() const;  // a list of scalars

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

// `file_name` is for messages only. An empty text is a null node.
StatusOr<Node> ParseYaml(std::string_view file_name, std::string_view text);

// Something wrong at a place.
struct Problem {
  Position position;
  std::string what;
};
Status ToStatus(const Node& node,
                const std::vector<Problem>& problems);  // the first ones, joined; OK when none

// Reads a map whose keys are all known: each getter names one key, Finish reports the others with
// the nearest known name. Problems are collected, never thrown; a getter that found a problem
// returns nothing.
class StrictMap {
 public:
  // `what` names the map in messages, e.g. "a rule". A null node counts as an empty map.
  StrictMap(const Node& node, std::string_view what, std::vector<Problem>* problems);

  // Null values count as absent.
  const Node* Get(std::string_view key);
  // Position of a key, or of the map when it is absent.
  Position KeyPosition(std::string_view key) const;

  std::optional<std::string> String(std::string_view key);
  std::optional<int64_t> Int(std::string_view key, int64_t least, int64_t most);
  std::optional<double> Number(std::string_view key);
  std::optional<bool> Bool(std::string_view key);
  std::optional<int64_t> Duration(std::string_view key);
  std::optional<std::vector<std::string>> Strings(std::string_view key);
  // A map of scalars, in the order of the file.
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
