#include "services/window/functions/rank_tracker.h"

#include <algorithm>

namespace pitwall::window {

void RankTracker::Fill(size_t column, std::span<int64_t> keys) {
  Cell& cell = cells_[column];
  const size_t n = keys.size(), size = std::min<size_t>(n, kKeys);
  const size_t below = Rank(phi_, n).below, half = size / 2;
  const size_t base = std::min(below > half ? below - half : 0, n - size);
  const auto first = keys.begin() + static_cast<ptrdiff_t>(base);
  const auto last = first + static_cast<ptrdiff_t>(size);
  if (base > 0) std::nth_element(keys.begin(), first, keys.end());
  if (last != keys.end()) std::nth_element(first, last, keys.end());
  std::sort(first, last);
  std::copy(first, last, cell.keys);
  cell.base = static_cast<uint32_t>(base);
  cell.size = static_cast<uint32_t>(size);
}

}  // namespace pitwall::window
