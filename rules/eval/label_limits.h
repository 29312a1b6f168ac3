// Limits on the bytes of labels that an evaluation computes.
//
// Functions such as label_replace, label_join, count_values, and group_left make new label sets at
// each level of an expression, so their output can grow exponentially with its depth. The limits
// are counts of bytes and depend on the input alone: a replay stops at the same evaluation.
#pragma once

#include <cstddef>
#include <string_view>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::eval {

// In bytes, as LabelBytes counts them.
struct LabelLimits {
  size_t value = 16 << 10;  // of one computed label value
  size_t set = 64 << 10;    // of one computed label set
  size_t evaluation =
      128 << 20;  // of all label sets that an expression and its sub-expressions compute
};

// Error of an evaluation whose sub-expressions compute more than the limit. `function` computed the
// last label sets.
Status TooManyLabelBytes(std::string_view function, size_t limit);

// Bytes of the label sets that one operator computes. Not thread-safe.
class LabelMeter {
 public:
  // `function` names the operator in errors.
  explicit LabelMeter(std::string_view function) : function_(function) {}

  void Reset() { bytes_ = 0; }
  // Each returns ResourceExhausted beyond a limit.
  Status CheckValue(const LabelLimits& limits, std::string_view label, size_t bytes) const;
  Status Add(const LabelLimits& limits, const Labels& labels);
  size_t bytes() const { return bytes_; }

 private:
  std::string_view function_;
  size_t bytes_ = 0;
};

}  // namespace pitwall::eval
