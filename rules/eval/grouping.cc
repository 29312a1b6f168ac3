#include "rules/eval/grouping.h"

#include <algorithm>
#include <utility>

namespace pitwall::eval {

void Grouping::Build(LabelTable* table, TransformId transform, std::span<const LabelId> elements) {
  std::vector<LabelId> group(elements.size());
  for (size_t i = 0; i < group.size(); ++i) group[i] = table->Apply(transform, elements[i]);
  LabelTable::Order order = table->Arrange(group);
  const size_t groups = order.unique.size();
  start_.assign(groups + 1, 0);
  for (const uint32_t g : order.place) ++start_[g + 1];
  largest_ = 0;
  for (size_t g = 0; g < groups; ++g) {
    largest_ = std::max<size_t>(largest_, start_[g + 1]);
    start_[g + 1] += start_[g];
  }
  member_.resize(group.size());
  std::vector<uint32_t> next(start_.begin(), start_.end() - 1);
  contiguous_ = true;
  for (size_t i = 0; i < group.size(); ++i) {
    const uint32_t k = next[order.place[i]]++;
    member_[k] = static_cast<uint32_t>(i);
    if (k != i) contiguous_ = false;
  }
  if (contiguous_) member_ = {};
  column_ = table->Column(std::move(order.unique));
}

}  // namespace pitwall::eval
