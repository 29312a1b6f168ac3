#include <algorithm>
#include <filesystem>

#include "services/base/text/strings.h"
#include "services/offline/ruletest/unit_test_rules.h"

namespace pitwall::offline {

namespace {

bool HasMeta(std::string_view pattern) {
  return pattern.find_first_of("*?[\\") != std::string_view::npos;
}

// Removes the next character from a pattern or bracket range, and skips a preceding backslash.
// Returns false at the end.
bool Next(std::string_view* pattern, char* out) {
  if (!pattern->empty() && pattern->front() == '\\') pattern->remove_prefix(1);
  if (pattern->empty()) return false;
  *out = pattern->front();
  pattern->remove_prefix(1);
  return true;
}

// Matches `c` against a bracket expression whose "[" has already been removed from `pattern`.
// Removes the rest of the expression. Returns nullopt if the expression is malformed.
std::optional<bool> MatchBracket(std::string_view* pattern, char c) {
  const bool negated = !pattern->empty() && pattern->front() == '^';
  if (negated) pattern->remove_prefix(1);
  bool found = false;
  for (bool first = true; first || pattern->empty() || pattern->front() != ']'; first = false) {
    char low = 0;
    if (pattern->empty() || pattern->front() == '-' || pattern->front() == ']' ||
        !Next(pattern, &low))
      return std::nullopt;
    char high = low;
    if (!pattern->empty() && pattern->front() == '-') {
      pattern->remove_prefix(1);
      if (pattern->empty() || pattern->front() == '-' || pattern->front() == ']' ||
          !Next(pattern, &high))
        return std::nullopt;
    }
    found |= low <= c && c <= high;
  }
  pattern->remove_prefix(1);
  return found != negated;
}

std::optional<bool> Match(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      std::optional<bool> found = false;
      for (size_t i = 0; i <= name.size(); ++i) {
        found = Match(pattern, name.substr(i));
        if (!found.has_value() || *found) break;
      }
      return found;
    }
    const char c = name.empty() ? '\0' : name.front();
    std::optional<bool> same = !name.empty();
    if (pattern.front() == '[') {
      pattern.remove_prefix(1);
      same = MatchBracket(&pattern, c);
      if (!same.has_value()) return same;
    } else if (pattern.front() == '?') {
      pattern.remove_prefix(1);
    } else {
      char wanted = 0;
      if (!Next(&pattern, &wanted)) return std::nullopt;
      same = wanted == c;
    }
    if (name.empty() || !*same) return false;
    name.remove_prefix(1);
  }
  return name.empty();
}

Status Expand(const std::filesystem::path& done, std::filesystem::path::const_iterator part,
              std::filesystem::path::const_iterator end, std::vector<std::string>* out) {
  std::error_code error;
  if (part == end) {
    out->push_back(done.string());
    return OkStatus();
  }
  const std::string text = part->string();
  const auto rest = std::next(part);
  if (!HasMeta(text)) {
    const std::filesystem::path path = done / *part;
    if (std::filesystem::symlink_status(path, error).type() ==
        std::filesystem::file_type::not_found)
      return OkStatus();
    return Expand(path, rest, end, out);
  }
  if (!Match(text, "").has_value())
    return InvalidArgument(Cat(Quote(text), " is not a valid pattern"));
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(done.empty() ? std::filesystem::path(".") : done, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::optional<bool> matches = Match(text, name);
    if (!matches.has_value()) return InvalidArgument(Cat(Quote(text), " is not a valid pattern"));
    if (*matches) RETURN_IF_ERROR(Expand(done / name, rest, end, out));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> Glob(const std::string& pattern) {
  std::vector<std::string> files;
  const std::filesystem::path path = std::filesystem::path(pattern).lexically_normal();
  RETURN_IF_ERROR(Expand({}, path.begin(), path.end(), &files));
  return files;
}

}  // namespace pitwall::offline
