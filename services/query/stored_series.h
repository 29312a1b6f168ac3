// A series whose samples are all there, in memory that somebody else keeps.
#pragma once

#include <cstdint>
#include <span>

#include "services/model/labels.h"

namespace pitwall::query {

struct StoredSeries {
  Labels labels;                   // with __name__
  std::span<const int64_t> times;  // strictly ascending, in nanoseconds
  std::span<const double> values;  // as many; StaleMarker() ends the series
};

}  // namespace pitwall::query
