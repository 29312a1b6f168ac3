// Suggestion of the known name closest to a mistyped name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pitwall {

// Returns the number of edits (insertion, deletion, replacement, or swap of adjacent characters)
// between two texts, or limit + 1 if there are more than `limit`.
int EditDistance(std::string_view a, std::string_view b, int limit);

// Returns the candidate with the fewest edits from `name`. The longest common prefix breaks ties.
// Returns "" if no candidate is close enough (within a quarter of the name's length, but at least
// one edit).
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

// Returns ` (did you mean "x"?)`, or "" if no candidate is close enough.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace pitwall
