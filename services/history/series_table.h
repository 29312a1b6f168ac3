// Table of the series in a response, with each series' number and peer group.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::history {

struct SeriesTable {
  std::vector<SeriesDescriptor> series;
  // Peer group number of each series, starting at 0. Peers differ only in rank, node, gpu, or cpu.
  std::vector<uint32_t> groups;
  uint32_t group_count = 0;
};
using SeriesTablePtr = std::shared_ptr<const SeriesTable>;

SeriesTablePtr MakeSeriesTable(std::vector<SeriesDescriptor> series);

}  // namespace pitwall::history
