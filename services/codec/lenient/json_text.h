// Tolerant handling of JSON as programs actually write it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pitwall::lenient {

// Repairs writer errors whose meaning is unambiguous. NaN, Infinity, and -Infinity become the
// strings "NaN", "+Inf", and "-Inf". Non-UTF-8 bytes and control characters in strings become "?".
// A backslash that escapes nothing becomes a literal backslash. Returns valid JSON unchanged.
std::string RepairJson(std::string_view text);

// Closes a truncated document after the last complete element of an array: `[{"a":1},{"a":` becomes
// `[{"a":1}]`. Returns "" if the text is not truncated or has no complete element.
std::string CloseCutJson(std::string_view text);

// Parses the text, and retries with RepairJson if parsing fails. The result is discarded
// (is_discarded()) if the repaired text is not JSON either.
template <typename Json = nlohmann::json>
Json ParseJson(std::string_view text) {
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_discarded()) return parsed;
  return Json::parse(RepairJson(text), nullptr, /*allow_exceptions=*/false);
}

}  // namespace pitwall::lenient
