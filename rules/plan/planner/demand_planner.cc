#include "rules/plan/planner/demand_planner.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "rules/lang/printer.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/check.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using lang::SelectorExpr;

Selector MakeSelector(const SelectorExpr& expr) {
  StatusOr<Selector> out = SelectorOf(expr);
  PITWALL_CHECK(out.ok());  // rules/check has already compiled the patterns
  return *std::move(out);
}

// Renders the selector with sorted matchers, so their order in the file does not matter.
std::string SelectorText(const SelectorExpr& expr) {
  lang::Expr copy;
  SelectorExpr selector = expr;
  std::sort(selector.matchers.begin(), selector.matchers.end(),
            [](const lang::LabelMatcher& a, const lang::LabelMatcher& b) {
              return std::tie(a.label, a.op, a.value) < std::tie(b.label, b.op, b.value);
            });
  copy.node = std::move(selector);
  return lang::Print(copy);
}

}  // namespace

Demand DemandPlanner::MakeDemand(WindowFunction function, const lang::Modifiers& modifiers) const {
  Demand demand;
  demand.function = function;
  demand.interval = times_.interval.ns();
  demand.align_job = times_.align_job;
  demand.offset = modifiers.offset ? modifiers.offset->nanos : 0;
  return demand;
}

Demand DemandPlanner::MakeDemand(const SelectorExpr& selector, WindowFunction function) const {
  Demand demand = MakeDemand(function, selector.modifiers);
  switch (selector.window) {
    case lang::WindowSyntax::kNone:
      demand.kind = WindowKind::kInstant;
      demand.lookback = group_.lookback;
      break;
    case lang::WindowSyntax::kDuration:
      demand.kind = WindowKind::kTime;
      demand.range = selector.range.nanos;
      break;
    case lang::WindowSyntax::kSamples:
      demand.kind = WindowKind::kSamples;
      demand.range = selector.samples;
      demand.lookback = group_.lookback;
      break;
    case lang::WindowSyntax::kAttempt:
      demand.kind = WindowKind::kAttempt;
      break;
    case lang::WindowSyntax::kFirst:
      demand.kind = WindowKind::kFirst;
      demand.range = selector.samples;
      demand.skip = selector.skipped;
      break;
  }
  // Samples stay valid for as long as in an instant selector.
  if (function == WindowFunction::kShare) demand.lookback = group_.lookback;
  return demand;
}

NodeId DemandPlanner::PlanSelector(const SelectorExpr& selector, WindowFunction function,
                                   bool keep_name) {
  DemandColumn column;
  column.ref.demand = domain_->AddDemand(MakeSelector(selector), MakeDemand(selector, function));
  column.keep_name = keep_name;
  Node node{.type = ValueType::kVector, .operation = column, .text = SelectorText(selector)};
  if (function == WindowFunction::kTimestamp) node.text = Cat("timestamp(", node.text, ")");
  return domain_->AddNode(std::move(node));
}

Node DemandPlanner::WindowOver(const SelectorExpr& selector, WindowFunction function,
                               std::string arguments, std::string* text) {
  Demand demand = MakeDemand(selector, function);
  demand.arguments = std::move(arguments);
  DemandColumn column;
  column.ref.demand = domain_->AddDemand(MakeSelector(selector), std::move(demand));
  *text = SelectorText(selector);
  return {.type = ValueType::kVector, .operation = column};
}

Node DemandPlanner::WindowOver(const lang::SubqueryExpr& subquery, NodeId inner,
                               WindowFunction function, std::string arguments, std::string* text) {
  const Duration step = StepOf(subquery);
  Demand demand = MakeDemand(function, subquery.modifiers);
  demand.kind = WindowKind::kTime;
  demand.range = subquery.range.nanos;
  // A result is valid until the next result.
  if (function == WindowFunction::kShare) demand.lookback = step.ns();
  demand.arguments = std::move(arguments);
  const uint32_t index = domain_->AddSubquery(inner, step);
  *text = Cat(domain_->OperandText(inner), "[", FormatDuration(demand.range), ":",
              FormatDuration(step.ns()), "]");
  if (demand.offset > 0) CatTo(*text, " offset ", FormatDuration(demand.offset));
  DemandColumn column;
  column.ref = {.source = index + 1, .demand = domain_->AddWindow(index, std::move(demand))};
  return {.type = ValueType::kVector, .operation = column};
}

Duration DemandPlanner::StepOf(const lang::SubqueryExpr& subquery) const {
  return Duration::Nanos(subquery.step ? subquery.step->nanos : group_.subquery_step);
}

DemandPlanner::Times DemandPlanner::Enter(const lang::SubqueryExpr& subquery) {
  return std::exchange(times_, {StepOf(subquery), false});
}

uint32_t DemandPlanner::PlanNeed(std::string_view metric) {
  SelectorExpr selector;
  selector.name = metric;
  return domain_->AddDemand(MakeSelector(selector), MakeDemand(selector, WindowFunction::kLast));
}

}  // namespace pitwall::plan
