// JSON as programs write it, which is not always JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pitwall::lenient {

// Rewrites the faults of writers whose meaning is not in doubt: NaN, Infinity, and -Infinity (as
// the texts "NaN", "+Inf", and "-Inf"), bytes in texts that are not UTF-8 and control characters
// (as "?"), and a backslash that escapes nothing (as itself). Returns valid JSON unchanged.
std::string RepairJson(std::string_view text);

// Closes a document that is cut short behind its last whole element of an array: `[{"a":1},{"a":`
// becomes `[{"a":1}]`. "" if the text is not cut, or has no such element.
std::string CloseCutJson(std::string_view text);

// Parses the text, if necessary after RepairJson. The result is discarded (is_discarded()) if it
// is not JSON even then.
template <typename Json = nlohmann::json>
Json ParseJson(std::string_view text) {
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_discarded()) return parsed;
  return Json::parse(RepairJson(text), nullptr, /*allow_exceptions=*/false);
}

}  // namespace pitwall::lenient
