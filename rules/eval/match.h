// Compiled vector matching: pairs of elements from both sides, and the positions of the results.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rules/eval/operator.h"

namespace pitwall::eval {

// The binding of one matching. "Many" is the side that may have several elements in a match group
// (the left one, unless group_right); "one" is the other side.
struct MatchTable {
  LabelColumnPtr column;  // of the result

  // Common case: no two elements of one side can match the same partner, and results never collide,
  // so a tick cannot fail. Parallel to the column.
  bool simple = false;
  std::vector<uint32_t> left, right;
  bool left_identity = false, right_identity = false;

  // General case. Group g has members many[many_start[g]..) and one[one_start[g]..); the result of
  // its i-th "many" and j-th "one" is at target[target_start[g] + i * stride(g) + j], with stride 1
  // if the labels do not depend on the "one" side, else the number of "one" members.
  std::vector<uint32_t> many_start, many, one_start, one;
  std::vector<uint32_t> target_start, target;
  bool per_pair = false;

  size_t MemoryBytes() const;
};

class MatchBinder {
 public:
  MatchBinder(const plan::Node& node, LabelTable* table);
  Status Bind(Context& context, Inputs inputs, MatchTable* out);
  // Bytes of the last Bind, as counted by LabelMeter.
  size_t LabelBytes() const { return meter_.bytes(); }

 private:
  // The interned labels of a pair's result.
  StatusOr<LabelId> Result(const Context& context, LabelId many, LabelId one);

  const plan::Node& node_;
  TransformId signature_;
  TransformId result_ = 0;    // labels kept from the "many" side
  bool rename_ = false;       // whether to apply result_
  TransformId included_ = 0;  // labels of `include`
  LabelMeter meter_{"group_left"};
};

// {a="b", c="d"}, as Go prints a label set.
std::string GoString(const Labels& labels);

}  // namespace pitwall::eval
