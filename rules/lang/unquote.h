// String literals of PromQL: "…" and '…' with Go's escapes, `…` raw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pitwall::lang {

// Reads the literal at the beginning of `text`, quotes included, and returns its length in bytes. 0
// when it is malformed: `error` says why and `error_at` where.
size_t Unquote(std::string_view text, std::string* value, size_t* error_at, std::string* error);

// Appends a code point as UTF-8.
void AppendUtf8(uint32_t code, std::string* out);

}  // namespace pitwall::lang
