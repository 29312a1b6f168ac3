// Parsing of PromQL string literals: "…" and '…' with Go escapes, and raw `…`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pitwall::lang {

// Parses the literal at the beginning of `text`, including its quotes, and returns its length in
// bytes. Returns 0 if the literal is malformed, with the cause in `error` and its position in
// `error_at`.
size_t Unquote(std::string_view text, std::string* value, size_t* error_at, std::string* error);

// Appends a code point as UTF-8.
void AppendUtf8(uint32_t code, std::string* out);

}  // namespace pitwall::lang
