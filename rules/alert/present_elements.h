// Iteration over the elements that are present in a column at a tick.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace pitwall::alert {

// Calls f(i) for every i with present[i] != 0. Checks eight elements at a time, because most
// elements of most rules are absent.
template <typename F>
void ForPresent(std::span<const uint8_t> present, F f) {
  const size_t n = present.size();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, present.data() + i, 8);
    if (word == 0) continue;
    for (size_t k = i; k < i + 8; ++k) {
      if (present[k] != 0 && !f(k)) return;
    }
  }
  for (; i < n; ++i) {
    if (present[i] != 0 && !f(i)) return;
  }
}

}  // namespace pitwall::alert
