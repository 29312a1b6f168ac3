// Planner that converts a checked expression to nodes and demands of its domain. Private to this
// module.
#pragma once

#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/ast.h"
#include "rules/plan/planner/domain_builder.h"
#include "services/model/windows/function_table.h"

namespace pitwall::plan {

// Outermost comparison of a rule and the values to show with it.
struct Comparison {
  NodeId subject = kNoNode;
  NodeId threshold = kNoNode;
  bool least_is_worst = false;  // true if smaller values of the subject are worse
  std::vector<NodeId> evidence;
};

// Plans the expressions of one rule. Does not own its constructor arguments, which must outlive it.
class ExpressionPlanner {
 public:
  // `first_parameter` is the index of the rule's first parameter in the domain. The other
  // parameters follow in the rule's order.
  ExpressionPlanner(const check::CheckedGroup& group, const check::CheckedRule& rule,
                    uint32_t first_parameter, DomainBuilder* domain)
      : group_(group),
        rule_(rule),
        first_parameter_(first_parameter),
        domain_(domain),
        interval_(group.interval),
        align_job_(group.text->align_job) {}

  // Returns the expression's node. A scalar stays a scalar.
  NodeId Plan(const lang::Expr& expr);
  // Returns the node for a rule's result. A scalar becomes a vector of one element without labels.
  NodeId PlanResult(const lang::Expr& expr);
  Comparison PlanComparison(const lang::Expr& expr);
  // Adds an instant demand on a metric, which is the column of a need.
  uint32_t PlanNeed(std::string_view metric);

 private:
  NodeId Number(double value);
  NodeId Time();
  NodeId TimeVector();  // vector(time())
  NodeId AsVector(NodeId scalar);
  NodeId PlanSelector(const lang::SelectorExpr& selector, WindowFunction function, bool keep_name);
  NodeId PlanWindow(const lang::CallExpr& call, const FunctionRow& function);
  NodeId PlanPrediction(const lang::CallExpr& call);
  NodeId PlanBaselineScore(const lang::CallExpr& call);
  // Returns a kDemand node over a range vector, complete except for its text and its own inputs.
  // `text` receives the text of the range vector and may be null.
  Node WindowOver(const lang::Expr& matrix, WindowFunction function, std::string arguments,
                  std::string* text);
  NodeId PlanBinary(const lang::BinaryExpr& binary);
  NodeId PlanAggregate(const lang::AggregateExpr& aggregate);
  NodeId PlanCall(const lang::CallExpr& call);
  NodeId PlanAbsent(NodeId input, const lang::Expr& argument, std::string_view name);
  void AddEvidence(const lang::Expr& expr, std::vector<NodeId>* evidence);
  Demand MakeDemand(WindowFunction function, const lang::Modifiers& modifiers) const;
  Demand MakeDemand(const lang::SelectorExpr& selector, WindowFunction function) const;
  const std::string& Text(NodeId id) const { return domain_->node(id).text; }
  std::string Operand(NodeId id) const;

  const check::CheckedGroup& group_;
  const check::CheckedRule& rule_;
  uint32_t first_parameter_;
  DomainBuilder* domain_;
  // Evaluation times of the current expression: the ticks of the group, or the steps of a subquery.
  int64_t interval_;
  bool align_job_;
};

}  // namespace pitwall::plan
