#include "services/base/text/did_you_mean.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall {

int EditDistance(std::string_view a, std::string_view b, int limit) {
  if (std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())) > limit) return limit + 1;
  std::vector<int> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = static_cast<int>(i);
    int best = next[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({replace, row[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
      best = std::min(best, next[j]);
    }
    if (best > limit) return limit + 1;
    std::swap(before, row);
    std::swap(row, next);
  }
  return std::min(row[b.size()], limit + 1);
}

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  const int limit = std::max(1, static_cast<int>(name.size()) / 4);
  std::string_view nearest;
  int nearest_distance = limit + 1;
  size_t nearest_prefix = 0;
  for (const std::string_view candidate : candidates) {
    const int distance = EditDistance(name, candidate, std::min(limit, nearest_distance));
    if (distance > limit) continue;
    const size_t shorter = std::min(name.size(), candidate.size());
    size_t prefix = 0;
    while (prefix < shorter && name[prefix] == candidate[prefix]) ++prefix;
    if (distance < nearest_distance || (distance == nearest_distance && prefix > nearest_prefix)) {
      nearest = candidate;
      nearest_distance = distance;
      nearest_prefix = prefix;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = NearestName(name, candidates);
  return nearest.empty() ? std::string() : Cat(" (did you mean ", Quote(nearest), "?)");
}

}  // namespace pitwall
