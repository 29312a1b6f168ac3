#include "services/model/issues/capture_pattern.h"

#include <re2/re2.h>

#include <cctype>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<CapturePattern> CapturePattern::Make(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_max_mem(1 << 20);
  auto compiled = std::make_shared<RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    return InvalidArgument(Cat("bad regular expression ", Quote(pattern), ": ", compiled->error()));
  }
  CapturePattern out;
  out.pattern_ = std::move(compiled);
  return out;
}

std::optional<std::string> CapturePattern::Expand(std::string_view value,
                                                  std::string_view replacement,
                                                  size_t max_bytes) const {
  std::vector<re2::StringPiece> groups(static_cast<size_t>(pattern_->NumberOfCapturingGroups()) +
                                       1);
  const re2::StringPiece text(value.data(), value.size());
  if (!pattern_->Match(text, 0, text.size(), RE2::ANCHOR_BOTH, groups.data(),
                       static_cast<int>(groups.size()))) {
    return std::nullopt;
  }
  std::string out;
  ExpandGroups(replacement, *pattern_, groups, max_bytes, &out);
  return out;
}

void ExpandGroups(std::string_view replacement, const RE2& re,
                  std::span<const re2::StringPiece> groups, size_t max_bytes, std::string* out) {
  for (size_t i = 0; i < replacement.size() && out->size() <= max_bytes; ++i) {
    if (replacement[i] != '$' || i + 1 == replacement.size()) {
      *out += replacement[i];
      continue;
    }
    if (replacement[i + 1] == '$') {
      *out += '$';
      ++i;
      continue;
    }
    const bool braces = replacement[i + 1] == '{';
    size_t start = i + 1 + braces;
    size_t end = start;
    while (end < replacement.size() &&
           (std::isalnum(static_cast<unsigned char>(replacement[end])) != 0 ||
            replacement[end] == '_')) {
      ++end;
    }
    if (end == start || (braces && (end == replacement.size() || replacement[end] != '}'))) {
      *out += '$';  // not a group name, so $ is literal
      continue;
    }
    const std::string name(replacement.substr(start, end - start));
    i = end - 1 + braces;
    int64_t group = -1;
    if (const auto number = ParseInt(name)) {
      group = *number;
    } else {
      const auto it = re.NamedCapturingGroups().find(name);
      if (it != re.NamedCapturingGroups().end()) group = it->second;
    }
    if (group >= 0 && group < static_cast<int64_t>(groups.size())) {
      const re2::StringPiece& piece = groups[static_cast<size_t>(group)];
      const size_t room = max_bytes - out->size();
      if (piece.data() != nullptr)
        out->append(piece.data(), room < piece.size() ? room + 1 : piece.size());
    }
  }
}

}  // namespace pitwall
