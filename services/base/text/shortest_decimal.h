// Fast conversion of many doubles to text, for replies with hundreds of thousands of numbers.
#pragma once

#include <cstddef>
#include <string>

namespace pitwall {

// Maximum length of a double as text.
inline constexpr size_t kMostDoubleChars = 32;
// Writes the same text as FormatDouble, several times faster for values from 1e-4 to 1e15, to a
// buffer of at least kMostDoubleChars bytes; returns its end.
char* WriteDouble(double value, char* to);
void AppendDouble(double value, std::string* out);

}  // namespace pitwall
