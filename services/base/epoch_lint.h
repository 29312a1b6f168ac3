// Numbers that are meant as a date.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pitwall {

// What to say of a text that stands for seconds since 1970 and looks like a date: a year (2023) or
// a day (20231114), from 1970 to 2100. Null: a plain number, or no number.
std::optional<std::string> DateTakenForSeconds(std::string_view text);

}  // namespace pitwall
