// Table of the series in a response, which are numbered and assigned to peer groups.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/model/telemetry.h"

namespace pitwall::history {

struct SeriesTable {
  std::vector<SeriesDescriptor> series;
  // Number of each series' peer group, starting at 0. Peers differ only in rank, node, gpu, or cpu.
  std::vector<uint32_t> groups;
  uint32_t group_count = 0;
};
using SeriesTablePtr = std::shared_ptr<const SeriesTable>;

SeriesTablePtr MakeSeriesTable(std::vector<SeriesDescriptor> series);

}  // namespace pitwall::history
