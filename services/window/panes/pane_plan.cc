#include "services/window/panes/pane_plan.h"

#include <algorithm>
#include <utility>

namespace pitwall::window {

void PanePlan::Add(Family family, int64_t keep) {
  keep_ = std::max(keep_, keep);
  if (family == Family::kOrdered) {
    ordered_ = true;
    return;
  }
  if (OpsOf(family).timed) {
    timed_ = true;
    keep_times_ = std::max(keep_times_, keep);
  }
  const size_t index = IndexOf(family);
  if (index == families_.size()) {
    families_.push_back(family);
    keep_partials_.push_back(keep);
  } else {
    keep_partials_[index] = std::max(keep_partials_[index], keep);
  }
}

size_t PanePlan::IndexOf(Family family) const {
  return static_cast<size_t>(std::find(families_.begin(), families_.end(), family) -
                             families_.begin());
}

void PanePlan::Adapt(Pane& pane, const PanePlan& before) const {
  if (!timed_) pane.times.reset();
  if (pane.deep == nullptr) return;
  DeepPane& deep = *pane.deep;
  std::vector<Row> partials(families_.size());
  for (size_t f = 0; f < families_.size(); ++f)
    partials[f] = deep.partials[before.IndexOf(families_[f])];
  deep.partials = std::move(partials);
  if (IndexOf(Family::kSums) == families_.size()) deep.scaled.reset();
  if (!ordered_) {
    deep.samples.clear();
    deep.extras.clear();
    deep.dropped.clear();
  }
}

}  // namespace pitwall::window
