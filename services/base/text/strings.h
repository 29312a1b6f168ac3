// Text functions, including the only conversions between std::string_view and Debian's
// absl::string_view. (With a newer abseil, the two types are identical.) All function signatures in
// the project use std::string_view.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace pitwall {

inline absl::string_view ToAbsl(std::string_view s) {
  return absl::string_view(s.data(), s.size());
}
#if ABSL_OPTION_USE_STD_STRING_VIEW == 0
inline std::string_view ToStd(absl::string_view s) { return std::string_view(s.data(), s.size()); }
#else
inline std::string_view ToStd(std::string_view s) { return s; }
#endif

namespace internal {
template <typename T>
auto CatArgument(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return absl::AlphaNum(ToAbsl(std::string_view(value)));
  } else {
    return absl::AlphaNum(value);
  }
}
}  // namespace internal

// Like absl::StrCat, for any mix of strings, string views of either type, and numbers. Doubles are
// printed with six digits; use FormatDouble to keep the exact value.
template <typename... T>
std::string Cat(const T&... parts) {
  std::string out;
  (absl::StrAppend(&out, internal::CatArgument(parts)), ...);
  return out;
}
template <typename... T>
void CatTo(std::string& out, const T&... parts) {
  (absl::StrAppend(&out, internal::CatArgument(parts)), ...);
}

// Returns the shortest text that parses to the same double, in Prometheus's format: 1, 0.1, 1e+21,
// NaN, +Inf, -Inf.
std::string FormatDouble(double value);
// Formats a value with three digits and the appropriate unit. Each unit is `factor` times the
// previous one: "1.5 KiB", "3.4 us".
std::string FormatScaled(double value, double factor, std::span<const std::string_view> units);
std::string FormatBytes(double bytes);

// Parses the whole text as a number, or returns nothing. Accepts the syntax of Go's ParseFloat
// except hex: decimals, exponents, and Inf, +Inf, -Inf, or NaN in any case.
std::optional<double> ParseDouble(std::string_view text);
std::optional<int64_t> ParseInt(std::string_view text);

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
// Returns lowercase hex, two digits per byte.
std::string Hex(std::string_view bytes);
// Returns the text in double quotes with \n \t \" \\ and \xNN escapes, for error messages that
// contain input.
std::string Quote(std::string_view text);

// Hash and equality for std::string_view lookups in an absl map with std::string keys, without a
// copy.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return absl::Hash<absl::string_view>{}(ToAbsl(s)); }
};
struct StringEq {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};
template <typename V>
using StringMap = absl::flat_hash_map<std::string, V, StringHash, StringEq>;

}  // namespace pitwall
