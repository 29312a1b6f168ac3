// Growth policy for vectors that fill up during a window. Doubling would leave up to half of their
// memory unused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pitwall::history {

// Reserves space for `more` elements. A full vector grows by 1/`part` of its size.
template <typename T>
void ReserveFor(std::vector<T>* list, size_t more, size_t part) {
  const size_t wanted = list->size() + more;
  if (wanted <= list->capacity()) return;
  list->reserve(std::max(wanted, list->capacity() + list->capacity() / part));
}

}  // namespace pitwall::history
