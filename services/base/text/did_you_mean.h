// "Did you mean …?": the known name that is closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pitwall {

// Edits (insert, delete, replace, swap of neighbors) between two texts, counted up to `limit`;
// limit + 1 when more.
int EditDistance(std::string_view a, std::string_view b, int limit);

// The candidate with the fewest edits from `name`, of equals the one that shares the longest
// beginning; "" when none is near enough (a quarter of the name's length, at least one edit) to be
// a likely typing mistake.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

// ` (did you mean "x"?)`, or "" when nothing is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace pitwall
