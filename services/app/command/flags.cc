#include "services/app/command/flags.h"

#include <algorithm>

#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr size_t kHelpColumn = 28;
constexpr size_t kHelpWidth = 100;

const FlagSpec* FindSpec(const std::vector<FlagSpec>& specs, std::string_view argument,
                         std::string_view name) {
  for (const FlagSpec& spec : specs) {
    if (spec.name == name) return &spec;
    if (!spec.short_name.empty() && argument == Cat("-", spec.short_name)) return &spec;
  }
  return nullptr;
}

bool IsOption(const std::vector<FlagSpec>& specs, std::string_view argument) {
  return (StartsWith(argument, "--") && argument != "--") ||
         FindSpec(specs, argument, {}) != nullptr;
}

Status UnknownOption(const std::vector<FlagSpec>& specs, std::string_view name) {
  std::vector<std::string_view> names;
  for (const FlagSpec& spec : specs) names.push_back(spec.name);
  const std::string_view nearest = NearestName(name, names);
  return InvalidArgument(Cat("--", name, ": unknown option",
                             nearest.empty() ? "" : Cat("; did you mean --", nearest, "?")));
}

// Returns the number of characters in a UTF-8 string.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

StatusOr<Flags> Flags::Parse(const std::vector<FlagSpec>& specs,
                             const std::vector<std::string>& arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!IsOption(specs, argument)) {
      flags.positional_.push_back(argument);
      continue;
    }
    const size_t equals = StartsWith(argument, "--") ? argument.find('=') : std::string::npos;
    const std::string given =
        argument.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const FlagSpec* const spec = FindSpec(specs, argument, given);
    if (spec == nullptr) return UnknownOption(specs, given);
    const std::string name(spec->name);
    if (spec->kind == FlagSpec::Kind::kSwitch) {
      if (equals != std::string::npos)
        return InvalidArgument(Cat("--", name, ": takes no value (got ",
                                   Quote(argument.substr(equals + 1)), "); specify --", name));
      flags.values_.emplace_back(name, "true");
      continue;
    }
    if (equals != std::string::npos) {
      flags.values_.emplace_back(name, argument.substr(equals + 1));
      continue;
    }
    size_t taken = 0;
    while (i + 1 < arguments.size() && !StartsWith(arguments[i + 1], "--") &&
           !IsOption(specs, arguments[i + 1])) {
      flags.values_.emplace_back(name, arguments[++i]);
      ++taken;
      if (spec->kind == FlagSpec::Kind::kOne) break;
    }
    if (taken == 0)
      return InvalidArgument(Cat("--", name, ": value is missing; specify ", OptionText(*spec)));
  }
  return flags;
}

void Flags::SetDefault(std::string_view name, std::string_view value) {
  if (!Has(name)) values_.emplace_back(std::string(name), std::string(value));
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

std::vector<FlagSpec> JoinOptions(std::initializer_list<std::vector<FlagSpec>> groups) {
  std::vector<FlagSpec> all;
  for (const std::vector<FlagSpec>& group : groups)
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::string OptionText(const FlagSpec& spec) {
  if (spec.kind == FlagSpec::Kind::kSwitch) return Cat("--", spec.name);
  return Cat("--", spec.name, " ", spec.value, spec.kind == FlagSpec::Kind::kMany ? "…" : "");
}

std::string Wrapped(std::string_view text, size_t column) {
  std::string out;
  size_t width = column;
  for (const std::string_view word : Split(text, ' ')) {
    if (out.empty()) {
      width += Columns(word);
    } else if (width + 1 + Columns(word) > kHelpWidth) {
      CatTo(out, "\n", std::string(column, ' '));
      width = column + Columns(word);
    } else {
      out.push_back(' ');
      width += 1 + Columns(word);
    }
    CatTo(out, word);
  }
  return out;
}

std::string FlagHelp(const std::vector<FlagSpec>& specs) {
  std::string out;
  for (const FlagSpec& spec : specs) {
    std::string left = "  ";
    if (!spec.short_name.empty()) CatTo(left, "-", spec.short_name, ", ");
    CatTo(left, OptionText(spec));
    if (Columns(left) + 2 > kHelpColumn) {
      CatTo(left, "\n", std::string(kHelpColumn, ' '));
    } else {
      left.append(kHelpColumn - Columns(left), ' ');
    }
    const std::string suffix =
        spec.default_value.empty() ? "" : Cat(" (default: ", spec.default_value, ")");
    CatTo(out, left, Wrapped(Cat(spec.help, suffix), kHelpColumn), "\n");
  }
  return out;
}

}  // namespace pitwall
