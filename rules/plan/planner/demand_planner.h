// Planner for the demands of an expression on the store: selectors and windows. Private to this
// module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/check/rule_set.h"
#include "rules/lang/ast.h"
#include "rules/plan/planner/domain_builder.h"
#include "services/base/time.h"
#include "services/model/windows/function_table.h"

namespace pitwall::plan {

// Adds the demands for the expressions in one group. Does not own its constructor arguments, which
// must outlive it.
class DemandPlanner {
 public:
  // Evaluation times of an expression: the ticks of the group, or the steps of a subquery.
  struct Times {
    Duration interval;
    bool align_job = false;
  };

  DemandPlanner(const check::CheckedGroup& group, DomainBuilder* domain)
      : group_(group),
        domain_(domain),
        times_{Duration::Nanos(group.interval), group.text->align_job} {}

  NodeId PlanSelector(const lang::SelectorExpr& selector, WindowFunction function, bool keep_name);
  // Adds an instant demand on a metric as the column of a need.
  uint32_t PlanNeed(std::string_view metric);

  // Returns a DemandColumn node over a range vector, complete except for its text and inputs.
  // `text` receives the text of the range vector.
  Node WindowOver(const lang::SelectorExpr& selector, WindowFunction function,
                  std::string arguments, std::string* text);
  // Does the same for a subquery. `inner` is the node of its expression.
  Node WindowOver(const lang::SubqueryExpr& subquery, NodeId inner, WindowFunction function,
                  std::string arguments, std::string* text);

  // Switches to the evaluation times of the subquery. Returns the outer times, which Leave
  // restores.
  Times Enter(const lang::SubqueryExpr& subquery);
  void Leave(const Times& outer) { times_ = outer; }

 private:
  Demand MakeDemand(WindowFunction function, const lang::Modifiers& modifiers) const;
  Demand MakeDemand(const lang::SelectorExpr& selector, WindowFunction function) const;
  Duration StepOf(const lang::SubqueryExpr& subquery) const;

  const check::CheckedGroup& group_;
  DomainBuilder* domain_;
  Times times_;
};

}  // namespace pitwall::plan
