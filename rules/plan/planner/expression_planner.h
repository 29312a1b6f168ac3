// Planner that converts a checked expression to nodes and demands of its domain. Private to this
// module.
#pragma once

#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/ast.h"
#include "rules/plan/planner/demand_planner.h"
#include "rules/plan/planner/domain_builder.h"
#include "services/model/windows/function_table.h"

namespace pitwall::plan {

// Plans the expressions of one rule. Does not own its constructor arguments, which must outlive it.
class ExpressionPlanner {
 public:
  // `first_parameter` is the index of the rule's first parameter in the domain. The other
  // parameters follow in the rule's order.
  ExpressionPlanner(const check::CheckedGroup& group, const check::CheckedRule& rule,
                    uint32_t first_parameter, DomainBuilder* domain)
      : rule_(rule), first_parameter_(first_parameter), domain_(domain), demands_(group, domain) {}

  // Returns the expression's node. A scalar stays a scalar.
  NodeId Plan(const lang::Expr& expr);
  // Returns the node for a rule's result. A scalar becomes a vector of one element without labels.
  NodeId PlanResult(const lang::Expr& expr);
  Comparison PlanComparison(const lang::Expr& expr);
  // Adds an instant demand on a metric as the column of a need.
  uint32_t PlanNeed(std::string_view metric) { return demands_.PlanNeed(metric); }

 private:
  NodeId PlanNumber(double value);
  NodeId PlanTime();
  NodeId AsVector(NodeId scalar);
  NodeId PlanWindow(const lang::CallExpr& call, const FunctionRow& function);
  NodeId PlanPrediction(const lang::CallExpr& call);
  NodeId PlanBaselineScore(const lang::CallExpr& call);
  // Returns a DemandColumn node over a range vector, complete except for its text and inputs.
  // `text` receives the text of the range vector.
  Node WindowOver(const lang::Expr& matrix, WindowFunction function, std::string arguments,
                  std::string* text);
  NodeId PlanBinary(const lang::BinaryExpr& binary);
  NodeId PlanAggregate(const lang::AggregateExpr& aggregate);
  NodeId PlanCall(const lang::CallExpr& call);
  NodeId PlanAbsent(NodeId input, const lang::Expr& argument, std::string_view name);
  void AddEvidence(const lang::Expr& expr, std::vector<NodeId>* evidence);
  const std::string& Text(NodeId id) const { return domain_->node(id).text; }

  const check::CheckedRule& rule_;
  uint32_t first_parameter_;
  DomainBuilder* domain_;
  DemandPlanner demands_;
};

}  // namespace pitwall::plan
