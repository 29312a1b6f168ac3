// Well-formed text.
#pragma once

#include <cstddef>
#include <string_view>

namespace pitwall {

// Length in bytes of the well-formed UTF-8 sequence at the start of `s` (Unicode 15, table 3-7); 0
// when there is none.
size_t Utf8Length(std::string_view s);

}  // namespace pitwall
