// Size of label sets, as limits count it.
#pragma once

#include <cstddef>

#include "services/model/labels.h"

namespace pitwall {

// Bytes of names and values, and a constant for each label. The same on every machine.
inline size_t LabelBytes(const Labels& labels) {
  constexpr size_t kOverhead = 64;  // two strings
  size_t bytes = 0;
  for (const Label& label : labels) bytes += label.name.size() + label.value.size() + kOverhead;
  return bytes;
}

}  // namespace pitwall
