// Operators ranked by total time, over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct OperatorShare {
  OperatorTotal total;  // rank -1: over all requested ranks
  double share = 0;     // of OperatorRanking::total_ns
};

struct OperatorRanking {
  std::vector<OperatorShare> operators;  // sorted by total, longest first, then by kind and name
  int64_t total_ns = 0;                  // over all operators, including omitted ones
  size_t left_out = 0;
};

StatusOr<OperatorRanking> RankOperators(const History& history, const SpanQuery& query,
                                        size_t most);

}  // namespace pitwall::history
