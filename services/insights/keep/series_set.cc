#include "services/insights/keep/series_set.h"

#include <algorithm>
#include <numeric>

#include "services/base/strings.h"

namespace pitwall::insights {

StatusOr<const WantedColumns*> SeriesSet::Of(const Schema& schema) {
  std::unique_ptr<WantedColumns>& wanted = schemas_[schema.id];
  if (wanted != nullptr) return wanted.get();
  wanted = std::make_unique<WantedColumns>();
  for (size_t i = 0; i < schema.series.size(); ++i) {
    const SeriesDescriptor& series = schema.series[i];
    const auto matches = [&](const Selector& s) { return s.Matches(series.labels); };
    if (!selectors_.empty() && std::none_of(selectors_.begin(), selectors_.end(), matches))
      continue;
    const auto [at, added] = index_.try_emplace(series.labels, static_cast<uint32_t>(all_.size()));
    if (added) {
      if (all_.size() >= limit_) {
        return ResourceExhausted(
            Cat("series: more than ", limit_, " match; narrow the selectors, or raise the limit"));
      }
      all_.push_back({series.labels, series.kind});
    }
    wanted->columns.push_back(static_cast<uint32_t>(i));
    wanted->series.push_back(at->second);
  }
  return wanted.get();
}

std::vector<uint32_t> SeriesSet::InOrder() const {
  std::vector<uint32_t> order(all_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return all_[a].labels < all_[b].labels; });
  return order;
}

}  // namespace pitwall::insights
