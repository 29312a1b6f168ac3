// Names of enumerations in events. A name has the index of its value.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace pitwall {

// Returns the value with the given name, or nullopt if there is none.
template <typename Enum, size_t N>
std::optional<Enum> ParseName(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace pitwall
