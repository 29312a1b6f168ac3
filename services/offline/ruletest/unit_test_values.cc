#include "services/offline/ruletest/unit_test_values.h"

#include <algorithm>
#include <optional>

#include "services/base/text/strings.h"

namespace pitwall::offline {

namespace {

constexpr std::string_view kSpace = " \t\n";

struct Group {
  std::string_view values;
  int64_t copies = 0;
  std::string_view rest;  // text after the group
};

// Reads a group, which begins at the parenthesis at `open`.
std::optional<Group> ReadGroup(std::string_view text, size_t open) {
  const size_t close = text.find(')', open);
  if (close == std::string_view::npos) return std::nullopt;
  if (open > 0 && kSpace.find(text[open - 1]) == std::string_view::npos) return std::nullopt;
  Group group;
  group.values = Trim(text.substr(open + 1, close - open - 1));
  const std::string_view after = text.substr(close + 1);
  const size_t end = std::min(after.find_first_of(kSpace), after.size());
  const auto copies =
      StartsWith(after, "*") ? ParseInt(after.substr(1, end - 1)) : std::optional<int64_t>();
  if (group.values.empty() || group.values.find('(') != std::string_view::npos ||
      !copies.has_value() || *copies < 2 || *copies > kMaxValueCopies)
    return std::nullopt;
  group.copies = *copies;
  group.rest = after.substr(end);
  return group;
}

}  // namespace

StatusOr<std::string> RepeatValueGroups(std::string_view values) {
  std::string out;
  size_t open = values.find('(');
  while (open != std::string_view::npos) {
    const auto group = ReadGroup(values, open);
    if (!group.has_value()) {
      return InvalidArgument(Cat("a group of values must be (VALUES)*COUNT with a count from 2 to ",
                                 kMaxValueCopies, " (got ", Quote(values.substr(open, 40)), ")"));
    }
    out += values.substr(0, open);
    if (out.size() + group->values.size() * static_cast<size_t>(group->copies) > kMaxValueBytes) {
      return InvalidArgument(Cat("the values are longer than ", kMaxValueBytes,
                                 " bytes without groups; lower the count (got ", group->copies,
                                 ")"));
    }
    for (int64_t i = 0; i < group->copies; ++i) out += Cat(i == 0 ? "" : " ", group->values);
    values = group->rest;
    open = values.find('(');
  }
  out += values;
  return out;
}

}  // namespace pitwall::offline
