#include "services/base/yaml/values.h"

#include <optional>
#include <utility>

#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::yaml {

StatusOr<std::string> ToString(const Node& node) {
  if (!node.IsScalar()) return node.Error(Cat("expected a string, found ", node.KindName()));
  return node.scalar();
}

StatusOr<int64_t> ToInt(const Node& node) {
  if (!node.IsScalar()) return node.Error(Cat("expected an integer, found ", node.KindName()));
  const std::optional<int64_t> value = ParseInt(node.scalar());
  if (node.quoted() || !value)
    return node.Error(Cat("expected an integer, found ", Quote(node.scalar())));
  return *value;
}

StatusOr<double> ToNumber(const Node& node) {
  if (!node.IsScalar()) return node.Error(Cat("expected a number, found ", node.KindName()));
  std::string text = node.scalar();
  if (text == ".inf" || text == "+.inf" || text == "-.inf" || text == ".nan") {
    text.erase(text.find('.'), 1);
  }
  const std::optional<double> value = ParseDouble(text);
  if (node.quoted() || !value)
    return node.Error(Cat("expected a number, found ", Quote(node.scalar())));
  return *value;
}

StatusOr<bool> ToBool(const Node& node) {
  if (node.IsScalar() && !node.quoted()) {
    const std::string& text = node.scalar();
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
  }
  return node.Error(Cat("expected true or false, found ",
                        node.IsScalar() ? Quote(node.scalar()) : std::string(node.KindName())));
}

StatusOr<int64_t> ToDuration(const Node& node) {
  if (!node.IsScalar()) return node.Error(Cat("expected a duration, found ", node.KindName()));
  StatusOr<int64_t> value = ParseDuration(node.scalar());
  if (!value.ok()) return node.Error(ToStd(value.status().message()));
  return value;
}

StatusOr<std::vector<std::string>> ToStrings(const Node& node) {
  if (!node.IsSequence())
    return node.Error(Cat("expected a list of strings, found ", node.KindName()));
  std::vector<std::string> out;
  for (const Node& item : node.items()) {
    ASSIGN_OR_RETURN(std::string text, ToString(item));
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace pitwall::yaml
