// Series of an answer by their numbers, and which of them are peers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::history {

struct SeriesTable {
  std::vector<SeriesDescriptor> series;
  // By series: peers have the same number, 0 and up. They differ in rank, node, gpu or cpu alone.
  std::vector<uint32_t> groups;
  uint32_t group_count = 0;
};
using SeriesTablePtr = std::shared_ptr<const SeriesTable>;

SeriesTablePtr MakeSeriesTable(std::vector<SeriesDescriptor> series);

}  // namespace pitwall::history
