#include "services/base/text/utf8.h"

namespace pitwall {

size_t Utf8Length(std::string_view s) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned b0 = byte(0), b1 = byte(1);
  if (b0 < 0x80) return 1;
  if (b0 < 0xC2) return 0;
  if (b0 < 0xE0) return tail(1) ? 2 : 0;
  if (b0 < 0xF0) {
    if (!tail(1) || !tail(2) || (b0 == 0xE0 && b1 < 0xA0) || (b0 == 0xED && b1 > 0x9F)) return 0;
    return 3;
  }
  if (b0 < 0xF5) {
    if (!tail(1) || !tail(2) || !tail(3) || (b0 == 0xF0 && b1 < 0x90) || (b0 == 0xF4 && b1 > 0x8F))
      return 0;
    return 4;
  }
  return 0;
}

std::string_view Utf8Prefix(std::string_view s, size_t bytes) {
  if (s.size() <= bytes) return s;
  // A sequence that starts within the last three bytes may extend beyond the limit.
  for (size_t back = 1; back <= 3 && back <= bytes; ++back) {
    const size_t length = Utf8Length(s.substr(bytes - back));
    if (length > back) return s.substr(0, bytes - back);
  }
  return s.substr(0, bytes);
}

}  // namespace pitwall
