#include "rules/plan/planner/selector_of.h"

#include <utility>

#include "services/model/labels.h"

namespace pitwall::plan {

StatusOr<Selector> SelectorOf(const lang::SelectorExpr& expr) {
  Selector out;
  if (!expr.name.empty()) {
    ASSIGN_OR_RETURN(Matcher name, Matcher::Make(kMetricName, MatchOp::kEqual, expr.name));
    out.matchers.push_back(std::move(name));
  }
  for (const lang::LabelMatcher& written : expr.matchers) {
    ASSIGN_OR_RETURN(Matcher matcher, Matcher::Make(written.label, written.op, written.value));
    out.matchers.push_back(std::move(matcher));
  }
  return out;
}

}  // namespace pitwall::plan
