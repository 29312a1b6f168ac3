// Share of the telemetry topic's partitions, owned by one of several processors.
#pragma once

#include <cstdint>
#include <vector>

namespace pitwall::processor {

// Partitions whose number modulo `count` equals `index`. The shares 0 to count - 1 are disjoint and
// together cover all partitions.
struct PartitionShare {
  int32_t index = 0;
  int32_t count = 1;
};

inline std::vector<int32_t> PartitionsOf(const PartitionShare& share, int32_t partitions) {
  std::vector<int32_t> owned;
  for (int32_t p = share.index; p < partitions; p += share.count) owned.push_back(p);
  return owned;
}

}  // namespace pitwall::processor
