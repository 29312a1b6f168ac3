#include "services/model/issues/action.h"

#include <array>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/model/issues/enum_names.h"

namespace pitwall {
namespace {
constexpr std::array<std::string_view, 4> kTypes = {
    "io.pitwall.action.decided", "io.pitwall.action.done", "io.pitwall.action.refused",
    "io.pitwall.action.requested"};
constexpr std::array<std::string_view, 3> kKinds = {"stop", "interval", "parameter"};
constexpr std::array<std::string_view, 2> kModes = {"dry_run", "live"};
}  // namespace

std::string_view ActionEventTypeName(ActionEventType type) {
  return kTypes[static_cast<size_t>(type)];
}
std::string_view ActionKindName(ActionKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view ActionModeName(ActionMode mode) { return kModes[static_cast<size_t>(mode)]; }
std::optional<ActionEventType> ParseActionEventType(std::string_view name) {
  return ParseName<ActionEventType>(kTypes, name);
}
std::optional<ActionKind> ParseActionKind(std::string_view name) {
  return ParseName<ActionKind>(kKinds, name);
}
std::optional<ActionMode> ParseActionMode(std::string_view name) {
  return ParseName<ActionMode>(kModes, name);
}

std::string ChangeText(const ParameterChange& change) {
  std::string out = Cat(change.name, " of ", change.rule, ": ");
  if (change.before.has_value()) CatTo(out, FormatDouble(*change.before), " ");
  CatTo(out, "-> ",
        change.value.has_value() ? FormatDouble(*change.value)
                                 : std::string("the value of the rule files"));
  return out;
}

std::string MakeActionId(const ActionEvent& event) {
  return StableHashHex(Cat("action", "\xff", event.issue, "\xff", ActionKindName(event.kind),
                           "\xff", ActionModeName(event.mode), "\xff",
                           ActionEventTypeName(event.type)));
}

}  // namespace pitwall
