// Checks for rules, one per source file. Each check examines one expression or one rule and adds
// diagnostics. Private to this module.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rules/check/metric_catalog.h"
#include "rules/check/rule_set.h"
#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"

namespace pitwall::check {

// Series that the rule set records: a map from the metric to the clocks on which it is recorded.
struct RecordedMetric {
  bool on_time = false;
  bool on_step = false;
};
using RecordedMetrics = StringMap<RecordedMetric>;

struct ExprContext {
  const lang::Source& source;
  const CheckedGroup& group;
  const lang::RuleText& rule;
  const CheckOptions& options;
  const RecordedMetrics& recorded;
  lang::Diagnostics* diagnostics;

  void Error(lang::Span span, std::string_view message) const {
    diagnostics->Error(source, span, message);
  }
  void Add(lang::Severity severity, lang::Span span, std::string_view message) const {
    diagnostics->Add(severity, source, span, message);
  }
};

// Checks operand and argument types, matching clauses, and selectors, like the Prometheus parser.
// Returns false if there are errors, so that the other checks can rely on well-typed expressions.
bool CheckTypes(const ExprContext& context, const lang::Expr& expr);
// Reports syntax that the grammar accepts but the engine does not support.
void CheckSupport(const ExprContext& context, const lang::Expr& expr);
// Reports @ modifiers, negative offsets, and windows that are too short or too expensive.
void CheckWindows(const ExprContext& context, const lang::Expr& expr);
// Reports durations and series that do not fit the group's clock.
void CheckClock(const ExprContext& context, const lang::Expr& expr);
// Reports metric names without a known producer.
void CheckNames(const ExprContext& context, const lang::Expr& expr);
// Role of an expression in its rule. Some warnings depend on it.
enum class Outcomes { kAlert, kClear, kRecord };
// Reports rules that never fire or always fire.
void CheckOutcome(const ExprContext& context, const lang::Expr& expr, Outcomes outcomes);
// Reports a `for` clause that has no effect.
void CheckTimes(const CheckedGroup& group, const lang::RuleText& rule,
                lang::Diagnostics* diagnostics);
// Reports a recorded metric name that already has another meaning.
void CheckRecordedName(const CheckedGroup& group, const lang::RuleText& rule,
                       const CheckOptions& options, lang::Diagnostics* diagnostics);
// Reports duplicate rules. Must be called for each rule in the set, in order.
class DuplicateRules {
 public:
  void Check(const CheckedGroup& group, const lang::RuleText& rule, const CheckedRule& checked,
             lang::Diagnostics* diagnostics);

 private:
  StringMap<std::string> seen_;  // position of the rule, by its content
};
// Reports undeclared $parameters and unused declarations.
void CheckParameters(const ExprContext& context, std::span<const lang::Expr* const> exprs,
                     std::span<const lang::Source* const> sources);
// Checks a label or annotation of an alert. `element` contains the possible labels of the alert
// expression's elements, or is null if these labels are unknown. Returns the query expressions in
// the template; some are null after errors.
struct LabelFlow;
std::vector<std::shared_ptr<const lang::Expr>> CheckTemplate(const ExprContext& context,
                                                             const lang::NamedText& text,
                                                             const LabelFlow* element);

// Checks annotations that control the engine. `capture: stacks` captures stacks when an issue
// begins. `onset: value` means that the problem began `value` seconds earlier.
void CheckFixedAnnotations(const ExprContext& context,
                           const std::vector<lang::NamedText>& annotations);

// Returns the metric name from the selector's "=" matcher, or "" if there is no such matcher.
std::string_view MetricNameOf(const lang::SelectorExpr& selector);
// Returns the metrics without which the expression has no result, in sorted order. See
// CheckedRule::needs.
std::vector<std::string> RequiredMetrics(const lang::Expr& expr);

}  // namespace pitwall::check
