// Template values and their text as written by Go's fmt package.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rules/templates/value.h"

namespace pitwall::templates {

// %v and %g without precision: the shortest digits that round-trip, with an exponent from 1e+06 on.
std::string GoNumber(double value);
// %.<precision>g and the like: `verb` one of e E f F g G.
std::string GoFloat(double value, char verb, int precision);
// %v. The caller prints maps and query results.
std::string GoText(const Value& value);
// Type names in Prometheus' messages: float64, int, string, bool, map[string]string, …
std::string_view GoType(const Value& value);
// fmt.Sprintf, with Go's notes about wrong arguments: %!d(string=x), %!s(MISSING), %!(EXTRA int=1).
std::string GoPrintf(std::string_view format, std::span<const Value> arguments);
// fmt.Sprint adds a space between operands if neither is a string; println adds spaces and a
// newline.
std::string GoPrint(std::span<const Value> arguments, bool line);
// strconv.Quote.
std::string GoQuote(std::string_view text);

}  // namespace pitwall::templates
