// Comparison of the series in an interval against the preceding period and against their peers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct DifferenceQuery {
  JobLifePtr job;
  TimeRange range;
  std::vector<Selector> suspects;  // series to rank; if empty, all series are ranked
  size_t most = 20;
  ReadLimits limits;
};

// Difference of one series. Unknown values are NaN.
struct Difference {
  Labels labels;
  double effect = 0;
  double mean = 0;  // mean in the interval; for counters, the mean increase per second
  double before = 0;
  double before_effect = 0;
  double peers = 0;  // median of the peers' means
  double peers_effect = 0;
  size_t peer_count = 0;
};

struct Differences {
  TimeRange range;             // range extended to whole rows of the tier
  int64_t before_from_ns = 0;  // start of the preceding period, four times as long as the interval
  std::optional<size_t> tier;
  size_t compared = 0;                  // number of compared series
  std::vector<Difference> differences;  // sorted by effect, largest first, and then by labels
};

// Finds the series with the largest differences. Peers differ only in rank, node, gpu, or cpu.
// docs/api.md defines the effects.
StatusOr<Differences> FindDifferences(const History& history, const DifferenceQuery& query);

}  // namespace pitwall::history
