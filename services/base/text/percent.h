// Percent-encoding of RFC 3986.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// What section 2.3 calls unreserved, beside letters and digits.
inline constexpr std::string_view kUnreservedMarks = "-._~";

// %XX for each byte but ASCII letters, digits and those of `plain`.
std::string PercentEncoded(std::string_view text, std::string_view plain = kUnreservedMarks);

}  // namespace pitwall
