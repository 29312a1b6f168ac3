// Values of templates, and their text as Go's fmt package writes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rules/templates/value.h"

namespace pitwall::templates {

// %v and %g without precision: the shortest digits that read back, 1e+06 from a million on.
std::string GoNumber(double value);
// %.<precision>g and the like: `verb` one of e E f F g G.
std::string GoFloat(double value, char verb, int precision);
// %v. Maps and results of queries are printed by the caller.
std::string GoText(const Value& value);
// Names as Prometheus shows them: float64, int, string, bool, map[string]string, …
std::string_view GoType(const Value& value);
// fmt.Sprintf, with Go's notes on wrong arguments: %!d(string=x), %!s(MISSING), %!(EXTRA int=1).
std::string GoPrintf(std::string_view format, std::span<const Value> arguments);
// fmt.Sprint: a space between operands when neither is a string. println: always, and a line end.
std::string GoPrint(std::span<const Value> arguments, bool line);
// strconv.Quote.
std::string GoQuote(std::string_view text);

}  // namespace pitwall::templates
