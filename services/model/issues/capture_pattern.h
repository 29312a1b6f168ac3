// Regular expressions with replacement texts, as Go has them: label_replace() and the templates'
// reReplaceAll.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace re2 {
class RE2;
class StringPiece;
}  // namespace re2

namespace pitwall {

// RE2, anchored at both ends, with a dot that matches line ends too. Immutable, cheap to copy.
class CapturePattern {
 public:
  // InvalidArgument with RE2's own words when the pattern is malformed.
  static StatusOr<CapturePattern> Make(std::string_view pattern);
  // `replacement` with $1, $name, ${name} and $$ replaced; nothing when the pattern does not match.
  // The expansion stops as soon as it is longer than `max_bytes`: a longer result is not complete.
  std::optional<std::string> Expand(std::string_view value, std::string_view replacement,
                                    size_t max_bytes) const;

 private:
  std::shared_ptr<const re2::RE2> pattern_;
};

// Appends `replacement` with the groups of a match in the places of $1, $name, ${name}; $$ is $.
// The longest name wins, so $1x is the group "1x". Unknown groups are empty. Stops as soon as `out`
// is longer than `max_bytes`, and never appends more than one byte beyond.
void ExpandGroups(std::string_view replacement, const re2::RE2& pattern,
                  std::span<const re2::StringPiece> groups, size_t max_bytes, std::string* out);

}  // namespace pitwall
