// Lists in memory that grow for as long as a window: doubling would leave up to half of them empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pitwall::history {

// Room for `more` elements. A list without it grows by a fraction of its size, one `part`th.
template <typename T>
void ReserveFor(std::vector<T>* list, size_t more, size_t part) {
  const size_t wanted = list->size() + more;
  if (wanted <= list->capacity()) return;
  list->reserve(std::max(wanted, list->capacity() + list->capacity() / part));
}

}  // namespace pitwall::history
