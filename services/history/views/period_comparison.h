// Differences of an interval: series against the time before it, and against their peers.
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
  std::vector<Selector> suspects;  // whose series are ranked; empty: all
  size_t most = 20;
  ReadLimits limits;
};

// NaN: not to be told.
struct Difference {
  Labels labels;
  double effect = 0;
  double mean = 0;  // in the interval; of counters the increase a second
  double before = 0;
  double before_effect = 0;
  double peers = 0;  // median of the peers' means
  double peers_effect = 0;
  size_t peer_count = 0;
};

struct Differences {
  TimeRange range;             // grown to whole rows of the tier
  int64_t before_from_ns = 0;  // the stretch before lasts four times as long
  std::optional<size_t> tier;
  size_t compared = 0;                  // series
  std::vector<Difference> differences;  // the greatest effect first, then by labels
};

// Peers of a series differ from it in rank, node, gpu or cpu alone. Effects as docs/api.md defines
// them.
StatusOr<Differences> FindDifferences(const History& history, const DifferenceQuery& query);

}  // namespace pitwall::history
