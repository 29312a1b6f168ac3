// Well-formed text.
#pragma once

#include <cstddef>
#include <string_view>

namespace pitwall {

// Length in bytes of the well-formed UTF-8 sequence at the start of `s` (Unicode 15, table 3-7); 0
// when there is none.
size_t Utf8Length(std::string_view s);

// The longest prefix of at most `bytes` that cuts no well-formed sequence.
std::string_view Utf8Prefix(std::string_view s, size_t bytes);

}  // namespace pitwall
