// Series with its stored samples. The caller owns the memory.
#pragma once

#include <cstdint>
#include <span>

#include "services/model/labels.h"

namespace pitwall::query {

struct StoredSeries {
  Labels labels;                   // includes __name__
  std::span<const int64_t> times;  // strictly ascending, in nanoseconds
  std::span<const double> values;  // same length as `times`; StaleMarker() ends the series
};

}  // namespace pitwall::query
