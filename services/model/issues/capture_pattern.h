// Regular expressions with Go's replacement syntax, for label_replace() and the template function
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

// RE2 pattern, anchored at both ends; the dot matches line breaks. Immutable and cheap to copy.
class CapturePattern {
 public:
  // Compiles a pattern. Returns InvalidArgument with RE2's message if the pattern is malformed.
  static StatusOr<CapturePattern> Make(std::string_view pattern);
  // Returns `replacement` with $1, $name, ${name}, and $$ expanded, or nothing if the pattern does
  // not match. The expansion stops once it exceeds `max_bytes`, so longer results are incomplete.
  std::optional<std::string> Expand(std::string_view value, std::string_view replacement,
                                    size_t max_bytes) const;

 private:
  std::shared_ptr<const re2::RE2> pattern_;
};

// Appends `replacement` with $1, $name, and ${name} replaced by the groups of a match; $$ becomes
// $. The longest possible name is used, so $1x refers to the group "1x". Unknown groups are empty.
// Stops once `out` exceeds `max_bytes` and never appends more than one byte beyond the limit.
void ExpandGroups(std::string_view replacement, const re2::RE2& pattern,
                  std::span<const re2::StringPiece> groups, size_t max_bytes, std::string* out);

}  // namespace pitwall
