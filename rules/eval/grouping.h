// Grouping of a vector's elements. A group is a run of members in label-set order, so that
// operations on the members have a fixed order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rules/eval/label_table.h"
#include "rules/eval/vector.h"

namespace pitwall::eval {

class Grouping {
 public:
  // Groups elements with equal labels after `transform`.
  void Build(LabelTable* table, TransformId transform, std::span<const LabelId> elements);

  const LabelColumnPtr& column() const { return column_; }  // labels of the groups
  size_t groups() const { return start_.empty() ? 0 : start_.size() - 1; }
  size_t begin(size_t group) const { return start_[group]; }
  size_t end(size_t group) const { return start_[group + 1]; }
  // Returns the element at `place`, which must be within the range of a group.
  size_t element(size_t place) const { return contiguous_ ? place : member_[place]; }
  // Returns true if element(place) equals `place` for every place.
  bool contiguous() const { return contiguous_; }
  const uint32_t* members() const { return member_.data(); }  // invalid if contiguous
  size_t largest() const { return largest_; }
  size_t MemoryBytes() const { return (start_.capacity() + member_.capacity()) * 4; }

 private:
  LabelColumnPtr column_;
  std::vector<uint32_t> start_;
  std::vector<uint32_t> member_;  // empty if contiguous
  bool contiguous_ = false;
  size_t largest_ = 0;
};

}  // namespace pitwall::eval
