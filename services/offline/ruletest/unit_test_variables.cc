#include "services/offline/ruletest/unit_test_variables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/base/yaml/builder.h"

namespace pitwall::offline {

using yaml::Builder;
using yaml::Node;

namespace {

constexpr std::string_view kFor = "for";

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsName(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::all_of(text.begin(), text.end(), IsNameByte);
}

// Returns the name that follows a `$`, and the length of the reference after the `$`.
std::pair<std::string_view, size_t> NameAfterDollar(std::string_view text) {
  if (StartsWith(text, "{")) {
    const size_t end = text.find('}');
    return end == std::string_view::npos ? std::pair(std::string_view(), size_t{0})
                                         : std::pair(text.substr(1, end - 1), end + 1);
  }
  size_t length = 0;
  while (length < text.size() && IsNameByte(text[length])) ++length;
  return {text.substr(0, length), length};
}

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int64_t step = 1;
};

// Returns the range in a text of the form `FIRST..LAST` or `FIRST..LAST/STEP`.
std::optional<Range> RangeIn(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view end = text.substr(dots + 2);
  const size_t slash = end.find('/');
  const auto first = ParseInt(text.substr(0, dots));
  const auto last = ParseInt(end.substr(0, slash));
  const auto step =
      slash == std::string_view::npos ? std::optional<int64_t>(1) : ParseInt(end.substr(slash + 1));
  if (!first.has_value() || !last.has_value() || !step.has_value()) return std::nullopt;
  return Range{*first, *last, *step};
}

// Returns the maps of variables in a `for`.
std::vector<Node> MapsOf(const Node& list) {
  return list.IsSequence() ? list.items() : std::vector<Node>{list};
}

}  // namespace

yaml::Position KeyPositionOf(const Node& map, std::string_view key) {
  for (const Node::Entry& entry : map.entries()) {
    if (entry.key == key) return entry.key_position;
  }
  return map.position();
}

Node WithoutKeys(const Node& map, const std::set<std::string_view>& keys) {
  if (!map.IsMap()) return map;
  std::vector<Node::Entry> kept;
  for (const Node::Entry& entry : map.entries()) {
    if (!keys.contains(entry.key)) kept.push_back(entry);
  }
  return Builder::Map(map, std::move(kept));
}

void TestVariables::Add(yaml::Position position, std::string what) {
  // An entry that is repeated has the same problem each time.
  if (!problems_->empty() && problems_->back().position == position &&
      problems_->back().what == what)
    return;
  problems_->push_back({position, std::move(what)});
}

bool TestVariables::Count(const Node& node) {
  if (nodes_ > kMaxAddedNodes) return false;
  nodes_ += Builder::Weight(node);
  if (nodes_ <= kMaxAddedNodes) return true;
  Add(node.position(),
      Cat("repetitions and fixtures add more than ", kMaxAddedNodes, " values to the file"));
  return false;
}

void TestVariables::AddRange(const Node& node, std::vector<std::string>* values) {
  const std::string& text = node.scalar();
  const auto range = node.quoted() ? std::nullopt : RangeIn(text);
  if (!range.has_value()) {
    values->push_back(Replace(node));
  } else if (range->first < 0 || range->last < range->first) {
    Add(node.position(), Cat("a range must be ascending (", text, "); write FIRST..LAST"));
  } else if (range->step < 1) {
    Add(node.position(),
        Cat("the step of a range must be positive (", text, "); write FIRST..LAST/STEP"));
  } else if (static_cast<uint64_t>((range->last - range->first) / range->step) >= kMaxRepetitions) {
    Add(node.position(), Cat("range has more than ", kMaxRepetitions, " values (", text, ")"));
  } else {
    for (int64_t i = range->first; i <= range->last; i += range->step) values->push_back(Cat(i));
  }
}

std::vector<std::string> TestVariables::ValuesOf(const Node& node) {
  std::vector<std::string> values;
  for (const Node& item : node.IsSequence() ? node.items() : std::vector<Node>{node}) {
    if (item.IsScalar()) {
      AddRange(item, &values);
    } else {
      Add(item.position(), Cat("a variable's value must be a string, not ", item.KindName()));
    }
  }
  return values;
}

void TestVariables::Combine(const Node& map, std::vector<Values>* rows) {
  std::vector<Values> combined(1);
  for (const Node::Entry& entry : map.entries()) {
    if (!IsName(entry.key)) {
      Add(entry.key_position, Cat(Quote(entry.key), " is not a name of a variable"));
      return;
    }
    const std::vector<std::string> values = ValuesOf(entry.value);
    if (values.size() * combined.size() + rows->size() > kMaxRepetitions) {
      Add(entry.key_position, Cat("for repeats its entry more than ", kMaxRepetitions, " times"));
      return;
    }
    std::vector<Values> longer;
    for (const Values& row : combined) {
      for (const std::string& value : values) {
        longer.push_back(row);
        longer.back().emplace_back(entry.key, value);
      }
    }
    combined = std::move(longer);
  }
  rows->insert(rows->end(), combined.begin(), combined.end());
}

void TestVariables::Repeat(const Node& entry, const std::function<void()>& each) {
  const Node* list = entry.Find(kFor);
  if (list == nullptr) return each();
  if (nodes_ > kMaxAddedNodes) return;
  std::vector<Values> rows;
  for (const Node& map : MapsOf(*list)) {
    if (map.IsMap()) {
      Combine(map, &rows);
    } else {
      Add(map.position(),
          Cat("for must be a map of variables or a list of such maps, not ", map.KindName()));
    }
  }
  if (rows.empty()) {
    if (problems_->empty()) Add(KeyPositionOf(entry, kFor), "for has no values");
    return;
  }
  const std::map<std::string, Variable, std::less<>> outer = variables_;
  std::map<std::string_view, size_t> numbers;
  for (const Values& row : rows) {
    for (const auto& [name, value] : row) {
      if (numbers.emplace(name, numbers_).second) ++numbers_;
    }
  }
  for (const Values& row : rows) {
    if (!Count(entry)) return;
    for (const auto& [name, value] : row) variables_[name] = {value, numbers[name]};
    each();
    variables_ = outer;
  }
  for (const auto& [name, number] : numbers) {
    if (!used_.contains(number))
      Add(KeyPositionOf(entry, kFor), Cat("the entry does not use the variable ", Quote(name)));
  }
}

void TestVariables::Isolate(const Node& entry, const std::function<void()>& body) {
  const auto outer = variables_;
  const bool was_isolated = std::exchange(isolated_, true);
  const Node* list = entry.Find(kFor);
  std::set<std::string_view> names;
  if (list != nullptr) {
    for (const Node& map : MapsOf(*list)) {
      for (const Node::Entry& one : map.entries()) names.insert(one.key);
    }
  }
  std::erase_if(variables_, [&](const auto& one) { return !names.contains(one.first); });
  body();
  variables_ = outer;
  isolated_ = was_isolated;
}

std::string TestVariables::Replace(const Node& node) {
  const std::string_view text = node.scalar();
  if ((variables_.empty() && !isolated_) || text.find('$') == std::string_view::npos)
    return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    if (StartsWith(text.substr(i + 1), "$")) {
      out += text[++i];
      continue;
    }
    const auto [name, length] = NameAfterDollar(text.substr(i + 1));
    i += length;
    const auto found = variables_.find(name);
    if (found != variables_.end()) {
      used_.insert(found->second.number);
      out += found->second.value;
    } else {
      Add(node.position(), Cat("no for sets the variable $", name, "; write $$ for a dollar sign"));
    }
  }
  return out;
}

Node TestVariables::Substitute(const Node& node) {
  if (variables_.empty() && !isolated_) return node;
  if (node.IsScalar()) return Builder::Scalar(node, Replace(node));
  if (node.IsSequence()) {
    std::vector<Node> items;
    for (const Node& item : node.items()) items.push_back(Substitute(item));
    return Builder::Sequence(node, std::move(items));
  }
  if (!node.IsMap()) return node;
  std::vector<Node::Entry> entries;
  for (const Node::Entry& entry : node.entries())
    entries.push_back({entry.key, entry.key_position, Substitute(entry.value)});
  return Builder::Map(node, std::move(entries));
}

}  // namespace pitwall::offline
