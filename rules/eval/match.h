// Compiled vector matching: pairs of elements from both sides, and the positions of the pairs'
// results.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rules/eval/operator.h"

namespace pitwall::eval {

// Binding of one matching. "Many" is the side that may have several elements in a match group (the
// left side, unless group_right is used). "One" is the other side.
struct MatchTable {
  LabelColumnPtr column;  // labels of the results

  // Simple case: each match group has a single "one" member (in one-to-one matching, also at most
  // one "many" member), and results never collide. Therefore, matching cannot fail at a tick.
  // The arrays are parallel to the column.
  bool simple = false;
  std::vector<uint32_t> left, right;
  bool left_identity = false, right_identity = false;

  // General case. Group g has the members many[many_start[g]..) and one[one_start[g]..). The result
  // of its i-th "many" and j-th "one" is at target[target_start[g] + i * stride(g) + j]. The stride
  // is 1 if the labels do not depend on the "one" side; otherwise it is the number of "one"
  // members.
  std::vector<uint32_t> many_start, many, one_start, one;
  std::vector<uint32_t> target_start, target;
  bool per_pair = false;

  size_t MemoryBytes() const;
};

class MatchBinder {
 public:
  // Does not own the operation. It must outlive the binder.
  MatchBinder(const plan::BinaryOperation& binary, LabelTable* table);
  Status Bind(Context& context, Inputs inputs, MatchTable* out);
  // Returns the number of bytes that LabelMeter counted for the label sets computed by the last
  // Bind.
  size_t LabelBytes() const { return meter_.bytes(); }

 private:
  // Returns the interned labels for the result of a pair.
  StatusOr<LabelId> Result(const Context& context, LabelId many, LabelId one);

  const plan::Matching& matching_;
  TransformId signature_;
  TransformId result_ = 0;    // labels copied from the "many" side
  bool rename_ = false;       // true if result_ must be applied
  TransformId included_ = 0;  // labels listed in `include`
  LabelMeter meter_{"group_left"};
};

// Formats a label set like Go: {a="b", c="d"}.
std::string GoString(const Labels& labels);

}  // namespace pitwall::eval
