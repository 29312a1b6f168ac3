// Functions for well-formed UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace pitwall {

// Returns the length in bytes of the well-formed UTF-8 sequence at the start of `s` (Unicode 15,
// table 3-7), or 0.
size_t Utf8Length(std::string_view s);

// Returns the longest prefix of at most `bytes` bytes that does not split a well-formed sequence.
std::string_view Utf8Prefix(std::string_view s, size_t bytes);

}  // namespace pitwall
