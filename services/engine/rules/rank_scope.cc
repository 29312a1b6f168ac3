#include "services/engine/rules/rank_scope.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "services/engine/program/program_check.h"

namespace pitwall::engine {

namespace {

constexpr std::string_view kRank = "rank";

class RankScope {
 public:
  explicit RankScope(const plan::DomainPlan& domain) : domain_(domain) {}

  bool Crosses(const plan::Rule& rule) {
    std::vector<bool> seen(domain_.nodes.size(), false);
    const std::vector<plan::NodeId> roots = plan::RootsOf(rule);
    // A rule that reads no series applies to the job as a whole.
    const bool reads = std::any_of(roots.begin(), roots.end(), [&](plan::NodeId root) {
      return !DemandsBelow(domain_, root).empty();
    });
    const bool crosses = !reads || std::any_of(roots.begin(), roots.end(), [&](plan::NodeId root) {
      return NodeCrosses(root, &seen);
    });
    if (crosses && rule.kind == plan::RuleKind::kRecord) recorded_.insert(rule.alert);
    return crosses;
  }

 private:
  bool NodeCrosses(plan::NodeId id, std::vector<bool>* seen) const {
    if (id == plan::kNoNode || (*seen)[id.index()]) return false;
    (*seen)[id.index()] = true;
    const plan::Node& node = domain_.nodes[id.index()];
    const bool crosses = std::visit(
        [&](const auto& operation) { return OperationCrosses(operation, seen); }, node.operation);
    if (crosses) return true;
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](plan::NodeId input) { return NodeCrosses(input, seen); });
  }

  template <typename Operation>
  bool OperationCrosses(const Operation&, std::vector<bool>*) const {
    return false;
  }

  // Returns true if the result has no `rank` label.
  bool OperationCrosses(const plan::Aggregation& aggregation, std::vector<bool>*) const {
    const std::vector<std::string>& grouping = aggregation.grouping;
    const bool named = std::find(grouping.begin(), grouping.end(), kRank) != grouping.end();
    return aggregation.without == named;
  }

  // absent() is true if there are no series, and scalar() has a value only if there is exactly one
  // series. On a clock with one rank, these functions would treat that rank as if it were the whole
  // job.
  bool OperationCrosses(const plan::FunctionCall& call, std::vector<bool>*) const {
    return call.function == FunctionId::kAbsent || call.function == FunctionId::kScalar;
  }

  bool OperationCrosses(const plan::DemandColumn& column, std::vector<bool>* seen) const {
    const auto [source, index] = column.ref;
    if (source > 0) return NodeCrosses(domain_.subqueries[source - 1].expr, seen);
    const Demand& demand = domain_.demands.demands[index];
    return recorded_.contains(std::string(domain_.demands.selectors[demand.selector].MetricName()));
  }

  const plan::DomainPlan& domain_;
  absl::flat_hash_set<std::string> recorded_;  // The rules that recorded it combine ranks.
};

}  // namespace

std::vector<std::vector<bool>> RulesAcrossRanks(const plan::DomainPlan& domain) {
  RankScope scope(domain);
  std::vector<std::vector<bool>> across;
  for (const plan::Group& group : domain.groups) {
    std::vector<bool>& rules = across.emplace_back();
    for (const plan::Rule& rule : group.rules) rules.push_back(scope.Crosses(rule));
  }
  return across;
}

}  // namespace pitwall::engine
