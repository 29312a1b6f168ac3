// Vector matching, compiled: which element of one side meets which of the other, and where the
// result goes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rules/eval/operator.h"

namespace pitwall::eval {

// The binding of one matching. "Many" is the side that may have several elements in a match group
// (the left one, unless group_right), "one" the other.
struct MatchTable {
  LabelColumnPtr column;  // of the result

  // The usual case: no two elements of one side can meet the same partner, results never fall
  // together, so that nothing can go wrong at a tick. Parallel to the column.
  bool simple = false;
  std::vector<uint32_t> left, right;
  bool left_identity = false, right_identity = false;

  // The general case. Group g has members many[many_start[g]..) and one[one_start[g]..); the result
  // of its i-th "many" and j-th "one" is at target[target_start[g] + i * stride(g) + j], stride 1
  // when the labels do not depend on the "one" side, else the number of "one" members.
  std::vector<uint32_t> many_start, many, one_start, one;
  std::vector<uint32_t> target_start, target;
  bool per_pair = false;

  size_t MemoryBytes() const;
};

class MatchBinder {
 public:
  MatchBinder(const plan::Node& node, LabelTable* table);
  Status Bind(Context& context, Inputs inputs, MatchTable* out);
  // Of the last Bind, as LabelMeter counts them.
  size_t LabelBytes() const { return meter_.bytes(); }

 private:
  // The labels of the result of a pair, interned.
  StatusOr<LabelId> Result(const Context& context, LabelId many, LabelId one);

  const plan::Node& node_;
  TransformId signature_;
  TransformId result_ = 0;    // what is kept of the "many" side
  bool rename_ = false;       // whether result_ is to be applied
  TransformId included_ = 0;  // labels of `include`
  LabelMeter meter_{"group_left"};
};

// "{a="b", c="d"}", as Go prints a label set.
std::string GoString(const Labels& labels);

}  // namespace pitwall::eval
