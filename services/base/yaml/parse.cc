// Parser based on yaml-cpp, which only this file uses. The parser's events build the tree, and its
// exceptions become a Status.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/builder.h"
#include "services/base/yaml/node_data.h"

namespace pitwall::yaml {
namespace {

// Error for rejected input, thrown from yaml-cpp callbacks.
struct Refusal {
  size_t offset;
  std::string what;
};

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

class TreeReader final : public YAML::EventHandler {
 public:
  explicit TreeReader(FileTextPtr file) : file_(std::move(file)) {}

  Node TakeRoot() { return root_ == nullptr ? Null(0) : Builder::Wrap(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refusal{Offset(mark), "only one document is allowed in a file"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Put(NewData(Node::Kind::kNull, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Refusal{Offset(mark), "an alias must not refer to its own anchor"};
    Count(mark, found->second->weight);
    Attach(found->second, Offset(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    auto data = NewData(Node::Kind::kScalar, mark);
    data->scalar = value;
    data->quoted = tag == "!" || tag == Cat(kCoreTag, "str");
    Put(std::move(data), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    CheckTag(mark, tag);
    Open(NewData(Node::Kind::kSequence, mark), anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    CheckTag(mark, tag);
    Open(NewData(Node::Kind::kMap, mark), anchor);
  }
  void OnMapEnd() override {
    Merge(*stack_.back().data);
    Close();
  }

 private:
  struct Frame {
    std::shared_ptr<Builder::Data> data;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
    size_t key_offset = 0;
    bool merge_key = false;
    absl::flat_hash_set<std::string> keys;
  };

  static size_t Offset(const YAML::Mark& mark) {
    return mark.pos < 0 ? 0 : static_cast<size_t>(mark.pos);
  }

  Node Null(size_t offset) const {
    auto data = std::make_shared<Builder::Data>();
    data->file = file_;
    data->offset = static_cast<uint32_t>(offset);
    return Builder::Wrap(std::move(data));
  }

  void Count(const YAML::Mark& mark, size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMaxNodes) {
      throw Refusal{Offset(mark), Cat("more than ", kMaxNodes, " values (aliases expanded)")};
    }
  }

  std::shared_ptr<Builder::Data> NewData(Node::Kind kind, const YAML::Mark& mark) {
    Count(mark, 1);
    auto data = std::make_shared<Builder::Data>();
    data->kind = kind;
    data->offset = static_cast<uint32_t>(Offset(mark));
    data->file = file_;
    return data;
  }

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || StartsWith(tag, kCoreTag)) return;
    throw Refusal{Offset(mark), Cat("tag ", Quote(tag), " is not supported")};
  }

  void Put(std::shared_ptr<Builder::Data> data, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = data;
    const size_t offset = data->offset;
    Attach(std::move(data), offset);
  }

  void Open(std::shared_ptr<Builder::Data> data, YAML::anchor_t anchor) {
    if (stack_.size() >= static_cast<size_t>(kMaxDepth)) {
      throw Refusal{data->offset, Cat("nested deeper than ", kMaxDepth, " levels")};
    }
    if (!stack_.empty() && stack_.back().data->kind == Node::Kind::kMap && !stack_.back().has_key) {
      throw Refusal{data->offset, "a key must be a string"};
    }
    stack_.push_back(Frame{std::move(data), anchor, false, {}, 0, false, {}});
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    for (const Node& item : frame.data->items) frame.data->weight += Builder::Weight(item);
    for (const Node::Entry& entry : frame.data->entries)
      frame.data->weight += Builder::Weight(entry.value);
    if (frame.anchor != YAML::NullAnchor) anchors_[frame.anchor] = frame.data;
    const size_t offset = frame.data->offset;
    Attach(std::move(frame.data), offset);
  }

  // `offset`: position at which the node is used. For an alias, it differs from the anchor's
  // position.
  void Attach(std::shared_ptr<const Builder::Data> data, size_t offset) {
    if (stack_.empty()) {
      root_ = std::move(data);
      return;
    }
    Frame& top = stack_.back();
    if (top.data->kind == Node::Kind::kSequence) {
      top.data->items.push_back(Builder::Wrap(std::move(data)));
      return;
    }
    if (!top.has_key) {
      if (data->kind != Node::Kind::kScalar) throw Refusal{offset, "a key must be a string"};
      top.merge_key = data->scalar == "<<" && !data->quoted;
      if (!top.keys.insert(data->scalar).second) {
        throw Refusal{offset, Cat("key ", Quote(data->scalar), " is a duplicate")};
      }
      top.key = data->scalar;
      top.key_offset = offset;
      top.has_key = true;
      return;
    }
    top.has_key = false;
    Node::Entry entry{std::move(top.key), file_->Locate(top.key_offset),
                      Builder::Wrap(std::move(data))};
    if (top.merge_key) {
      merges_[top.data.get()] = entry.value;
    } else {
      top.data->entries.push_back(std::move(entry));
    }
  }

  // Adds the keys of the map referenced by <<, except keys that `map` already has.
  void Merge(Builder::Data& map) {
    const auto found = merges_.find(&map);
    if (found == merges_.end()) return;
    const Node merged = found->second;
    merges_.erase(found);
    const auto add = [&](const Node& from) {
      if (!from.IsMap())
        throw Refusal{map.offset, Cat("<< must refer to a map, found ", from.KindName())};
      for (const Node::Entry& entry : from.entries()) {
        if (stack_.back().keys.insert(entry.key).second) map.entries.push_back(entry);
      }
    };
    if (merged.IsSequence()) {
      for (const Node& item : merged.items()) add(item);
    } else {
      add(merged);
    }
  }

  FileTextPtr file_;
  std::vector<Frame> stack_;
  absl::flat_hash_map<YAML::anchor_t, std::shared_ptr<const Builder::Data>> anchors_;
  absl::flat_hash_map<const Builder::Data*, Node> merges_;
  std::shared_ptr<const Builder::Data> root_;
  size_t nodes_ = 0;
  int documents_ = 0;
};

Status ErrorAt(const FileText& file, size_t offset, std::string_view what) {
  const Position at = file.Locate(offset);
  return InvalidArgument(Cat(file.name(), ":", at.line, ":", at.column, ": ", what));
}

}  // namespace

StatusOr<Node> ParseYaml(std::string_view file_name, std::string_view text) {
  if (StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument(Cat(file_name, ": file is ", text.size(), " bytes; the limit is ",
                               kMaxFileBytes, " bytes"));
  }
  const auto file = std::make_shared<const FileText>(std::string(file_name), std::string(text));
  if (const size_t bad = FindInvalidUtf8(text); bad != std::string_view::npos) {
    return ErrorAt(*file, bad, "not valid UTF-8");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\t' || byte == '\n' || byte == '\r' || (byte & 0xc0) == 0x80) continue;
    size_t length = 1;
    while (byte >= 0x80 && i + length < text.size() &&
           (static_cast<unsigned char>(text[i + length]) & 0xc0) == 0x80)
      ++length;
    if (HasControl(text.substr(i, length))) return ErrorAt(*file, i, "control character");
  }
  TreeReader reader(file);
  try {
    std::istringstream stream(file->text());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const Refusal& refusal) {
    return ErrorAt(*file, refusal.offset, refusal.what);
  } catch (const YAML::Exception& error) {
    // A position past the end (unclosed quote or bracket) is moved to the last byte.
    const size_t offset = error.mark.pos < 0 ? 0 : static_cast<size_t>(error.mark.pos);
    return ErrorAt(*file, std::min(offset, text.size()), error.msg);
  } catch (const std::exception& error) {
    return ErrorAt(*file, 0, error.what());
  }
  return reader.TakeRoot();
}

}  // namespace pitwall::yaml
