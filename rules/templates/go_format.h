// Formatting of template values like Go's fmt package.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rules/templates/value.h"

namespace pitwall::templates {

// Formats a number like %v or %g without a precision: the shortest digits that round-trip, with an
// exponent starting at 1e+06.
std::string GoNumber(double value);
// Formats a number like %.<precision><verb>. `verb` is one of e, E, f, F, g, and G.
std::string GoFloat(double value, char verb, int precision);
// Formats a value like %v. The caller must format maps and query results.
std::string GoText(const Value& value);
// Returns the type name as used in Prometheus messages: float64, int, string, bool,
// map[string]string, …
std::string_view GoType(const Value& value);
// Formats values like fmt.Sprintf, including Go's error markers for invalid arguments:
// %!d(string=x), %!s(MISSING), %!(EXTRA int=1).
std::string GoPrintf(std::string_view format, std::span<const Value> arguments);
// Formats values like fmt.Sprint: adds a space between operands if neither is a string. If `line`
// is true, formats like fmt.Sprintln, which adds spaces and a newline.
std::string GoPrint(std::span<const Value> arguments, bool line);
// Quotes a string like strconv.Quote.
std::string GoQuote(std::string_view text);

}  // namespace pitwall::templates
