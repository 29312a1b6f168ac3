// Checks of rules, one per file. Each examines one expression (or one rule) and adds to the
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

// Series that the rule set records: metric -> whether it is on the step clock.
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

// Operand and argument types, matching clauses, and selectors: the checks of Prometheus' parser.
// Returns false on errors, so that the checks below can rely on well-typed expressions.
bool CheckTypes(const ExprContext& context, const lang::Expr& expr);
// Syntax that the grammar accepts and the engine does not support.
void CheckSupport(const ExprContext& context, const lang::Expr& expr);
// @ and negative offsets, and windows that are too short or too expensive.
void CheckWindows(const ExprContext& context, const lang::Expr& expr);
// Durations and series that do not fit the group's clock.
void CheckClock(const ExprContext& context, const lang::Expr& expr);
// Metric names without a known producer.
void CheckNames(const ExprContext& context, const lang::Expr& expr);
// The role of an expression in its rule; some warnings depend on it.
enum class Outcomes { kAlert, kClear, kRecord };
// Rules that never fire or always fire.
void CheckOutcome(const ExprContext& context, const lang::Expr& expr, Outcomes outcomes);
// A `for` that has no effect.
void CheckTimes(const CheckedGroup& group, const lang::RuleText& rule,
                lang::Diagnostics* diagnostics);
// A recorded name that already has another meaning.
void CheckRecordedName(const CheckedGroup& group, const lang::RuleText& rule,
                       const CheckOptions& options, lang::Diagnostics* diagnostics);
// Duplicate rules. Call it for each rule of the set, in order.
class DuplicateRules {
 public:
  void Check(const CheckedGroup& group, const lang::RuleText& rule, const CheckedRule& checked,
             lang::Diagnostics* diagnostics);

 private:
  StringMap<std::string> seen_;  // content of a rule -> its position
};
// Undeclared $parameters and unused declarations.
void CheckParameters(const ExprContext& context, std::span<const lang::Expr* const> exprs,
                     std::span<const lang::Source* const> sources);
// Checks a label or annotation of an alert. `element`: labels of the elements of its expression;
// null if they are unknown. Returns the expressions of its queries; some are null after errors.
struct LabelFlow;
std::vector<std::shared_ptr<const lang::Expr>> CheckTemplate(const ExprContext& context,
                                                             const lang::NamedText& text,
                                                             const LabelFlow* element);

// Annotations that control the engine. `capture` names the data to capture when an issue begins:
// stacks. `onset: value` states that the problem began `value` seconds earlier.
void CheckFixedAnnotations(const ExprContext& context,
                           const std::vector<lang::NamedText>& annotations);

// The metric name that a selector fixes by "=", or "".
std::string_view MetricNameOf(const lang::SelectorExpr& selector);
// Metrics without which the expression has no result, sorted. See CheckedRule::needs.
std::vector<std::string> RequiredMetrics(const lang::Expr& expr);

}  // namespace pitwall::check
