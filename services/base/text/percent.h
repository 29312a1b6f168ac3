// Percent-encoding according to RFC 3986.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// Unreserved characters (section 2.3) other than letters and digits.
inline constexpr std::string_view kUnreservedMarks = "-._~";

// Encodes each byte as %XX, except ASCII letters, digits, and the characters in `plain`.
std::string PercentEncoded(std::string_view text, std::string_view plain = kUnreservedMarks);

}  // namespace pitwall
