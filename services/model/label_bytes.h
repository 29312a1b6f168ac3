// Size of label sets in bytes, used to enforce limits.
#pragma once

#include <cstddef>

#include "services/model/labels.h"

namespace pitwall {

// Returns the total size of the names and values, plus a constant per label. The result does not
// depend on the machine.
inline size_t LabelBytes(const Labels& labels) {
  constexpr size_t kOverhead = 64;  // overhead of two strings
  size_t bytes = 0;
  for (const Label& label : labels) bytes += label.name.size() + label.value.size() + kOverhead;
  return bytes;
}

}  // namespace pitwall
