#include "services/history/views/steps/operator_ranking.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace pitwall::history {

StatusOr<OperatorRanking> RankOperators(const History& history, const SpanQuery& query,
                                        size_t most) {
  ASSIGN_OR_RETURN(const std::vector<OperatorTotal> totals, history.Operators(query));
  std::map<std::pair<Span::Kind, std::string>, OperatorTotal> sums;
  OperatorRanking out;
  for (const OperatorTotal& total : totals) {
    out.total_ns += total.total_ns;
    const auto [at, fresh] = sums.try_emplace({total.kind, total.name}, total);
    at->second.rank = -1;
    if (fresh) continue;
    at->second.count += total.count;
    at->second.total_ns += total.total_ns;
    at->second.min_ns = std::min(at->second.min_ns, total.min_ns);
    at->second.max_ns = std::max(at->second.max_ns, total.max_ns);
  }
  for (auto& [key, sum] : sums) {
    const double share = out.total_ns > 0
                             ? static_cast<double>(sum.total_ns) / static_cast<double>(out.total_ns)
                             : 0;
    out.operators.push_back({std::move(sum), share});
  }
  std::stable_sort(out.operators.begin(), out.operators.end(),
                   [](const OperatorShare& a, const OperatorShare& b) {
                     return a.total.total_ns > b.total.total_ns;
                   });
  if (out.operators.size() > most) {
    out.left_out = out.operators.size() - most;
    out.operators.resize(most);
  }
  return out;
}

}  // namespace pitwall::history
