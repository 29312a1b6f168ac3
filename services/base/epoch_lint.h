// Detection of numbers of seconds that were probably meant as a date.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pitwall {

// Returns a message if a string that should be seconds since 1970 looks like a year (2023) or a
// date (20231114) from 1970 to 2100. Otherwise, returns nothing.
std::optional<std::string> DateTakenForSeconds(std::string_view text);

}  // namespace pitwall
