// Limits on the bytes of labels that an evaluation computes.
//
// Functions such as label_replace, label_join, count_values, and group_left create new label sets
// at each level of an expression, so their output can grow exponentially with the depth. The limits
// are byte counts and depend only on the input, so a replay stops at the same evaluation.
#pragma once

#include <cstddef>
#include <string_view>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::eval {

// Limits in bytes, as counted by LabelBytes.
struct LabelLimits {
  size_t value = 16 << 10;  // size of one computed label value
  size_t set = 64 << 10;    // size of one computed label set
  size_t evaluation =
      128 << 20;  // total size of the label sets that an expression and its subexpressions compute
};

// Returns the error for an expression whose computed label sets exceed the limit. `function` is the
// operator that computed the last label sets.
Status TooManyLabelBytes(std::string_view function, size_t limit);

// Counter for the bytes in the label sets that one operator computes. Not thread-safe.
class LabelMeter {
 public:
  // `function` is the operator's name in error messages.
  explicit LabelMeter(std::string_view function) : function_(function) {}

  void Reset() { bytes_ = 0; }
  // These methods return ResourceExhausted if a limit is exceeded.
  Status CheckValue(const LabelLimits& limits, std::string_view label, size_t bytes) const;
  Status Add(const LabelLimits& limits, const Labels& labels);
  size_t bytes() const { return bytes_; }

 private:
  std::string_view function_;
  size_t bytes_ = 0;
};

}  // namespace pitwall::eval
