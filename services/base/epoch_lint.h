// Detection of timestamps in seconds that were probably meant as dates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pitwall {

// Returns a message if a string that should contain seconds since 1970 looks like a year (2023) or
// a date (20231114) between 1970 and 2100, or nullopt otherwise.
std::optional<std::string> DateTakenForSeconds(std::string_view text);

}  // namespace pitwall
