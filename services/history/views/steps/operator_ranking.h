// Ranking of operators by total time over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct OperatorShare {
  OperatorTotal total;  // the rank is -1 because the total covers all requested ranks
  double share = 0;     // fraction of OperatorRanking::total_ns
};

struct OperatorRanking {
  // Sorted by total, longest first, and then by kind and name.
  std::vector<OperatorShare> operators;
  int64_t total_ns = 0;  // total time of all operators, including omitted ones
  size_t left_out = 0;
};

StatusOr<OperatorRanking> RankOperators(const History& history, const SpanQuery& query,
                                        size_t most);

}  // namespace pitwall::history
