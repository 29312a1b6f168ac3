#include "services/pitwall/flags.h"

#include <algorithm>

#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<Flags> Flags::Parse(const std::vector<FlagSpec>& specs,
                             const std::vector<std::string>& arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!StartsWith(argument, "--") || argument == "--") {
      flags.positional_.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name =
        argument.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const FlagSpec& s) { return s.name == name; });
    if (spec == specs.end()) {
      std::vector<std::string_view> names;
      for (const FlagSpec& s : specs) names.push_back(s.name);
      const std::string_view nearest = NearestName(name, names);
      return InvalidArgument(
          Cat("unknown flag --", name,
              nearest.empty() ? std::string() : Cat(" (did you mean --", nearest, "?)")));
    }
    if (spec->kind == FlagSpec::Kind::kSwitch) {
      if (equals != std::string::npos) return InvalidArgument(Cat("--", name, " takes no value"));
      flags.values_.emplace_back(name, "true");
      continue;
    }
    if (equals != std::string::npos) {
      flags.values_.emplace_back(name, argument.substr(equals + 1));
      continue;
    }
    size_t taken = 0;
    while (i + 1 < arguments.size() && !StartsWith(arguments[i + 1], "--")) {
      flags.values_.emplace_back(name, arguments[++i]);
      ++taken;
      if (spec->kind == FlagSpec::Kind::kOne) break;
    }
    if (taken == 0) return InvalidArgument(Cat("--", name, " needs a value (", spec->value, ")"));
  }
  return flags;
}

bool Flags::Has(std::string_view name) const { return One(name).has_value(); }

std::optional<std::string> Flags::One(std::string_view name) const {
  for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return std::nullopt;
}

std::vector<std::string> Flags::Many(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [flag, value] : values_) {
    if (flag == name) all.push_back(value);
  }
  return all;
}

std::string FlagHelp(const std::vector<FlagSpec>& specs) {
  std::string out;
  for (const FlagSpec& spec : specs) {
    std::string left = Cat("  --", spec.name);
    if (spec.kind != FlagSpec::Kind::kSwitch)
      CatTo(left, " ", spec.value, spec.kind == FlagSpec::Kind::kMany ? "…" : "");
    left.resize(std::max<size_t>(left.size() + 2, 32), ' ');
    CatTo(out, left, spec.help, "\n");
  }
  return out;
}

}  // namespace pitwall
