// Doubles as text, many of them: an answer for a page has hundreds of thousands.
#pragma once

#include <cstddef>
#include <string>

namespace pitwall {

// What a double takes at most as text.
inline constexpr size_t kMostDoubleChars = 32;
// Writes what FormatDouble returns, several times as fast for values from 1e-4 to 1e15, to at least
// kMostDoubleChars bytes; returns its end.
char* WriteDouble(double value, char* to);
void AppendDouble(double value, std::string* out);

}  // namespace pitwall
