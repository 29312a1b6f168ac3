// Series of complete samples, in memory owned by the caller.
#pragma once

#include <cstdint>
#include <span>

#include "services/model/labels.h"

namespace pitwall::query {

struct StoredSeries {
  Labels labels;                   // with __name__
  std::span<const int64_t> times;  // strictly ascending, in nanoseconds
  std::span<const double> values;  // same length; StaleMarker() ends the series
};

}  // namespace pitwall::query
