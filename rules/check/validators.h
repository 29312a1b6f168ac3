// The checks, one a file. Each looks at one expression (or one rule) and adds to the diagnostics.
// Private to this module.
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

// What the rule set itself produces: recorded metric -> whether it is recorded on the step clock.
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

// Types of operands and arguments, matching clauses, selectors: what Prometheus' own parser
// refuses. Returns false when it did, so that the checks below can rely on sound expressions.
bool CheckTypes(const ExprContext& context, const lang::Expr& expr);
// What the grammar has and the engine does not evaluate yet.
void CheckSupport(const ExprContext& context, const lang::Expr& expr);
// @ and negative offsets; windows that are too short or cost too much.
void CheckWindows(const ExprContext& context, const lang::Expr& expr);
// Durations and series that fit the group's clock.
void CheckClock(const ExprContext& context, const lang::Expr& expr);
// Names of metrics that nobody sends.
void CheckNames(const ExprContext& context, const lang::Expr& expr);
// Which expression of a rule: what is odd in one may be right in another.
enum class Outcomes { kAlert, kClear, kRecord };
// Rules that can never fire, or always do.
void CheckOutcome(const ExprContext& context, const lang::Expr& expr, Outcomes outcomes);
// A `for` that has no effect.
void CheckTimes(const CheckedGroup& group, const lang::RuleText& rule,
                lang::Diagnostics* diagnostics);
// A recorded name that means something else already.
void CheckRecordedName(const CheckedGroup& group, const lang::RuleText& rule,
                       const CheckOptions& options, lang::Diagnostics* diagnostics);
// Rules that say the same twice: to be asked for each rule of the set, in order.
class DuplicateRules {
 public:
  void Check(const CheckedGroup& group, const lang::RuleText& rule, const CheckedRule& checked,
             lang::Diagnostics* diagnostics);

 private:
  StringMap<std::string> seen_;  // what makes a rule -> where it is
};
// $names that are not declared, and declared ones that are not used.
void CheckParameters(const ExprContext& context, std::span<const lang::Expr* const> exprs,
                     std::span<const lang::Source* const> sources);
// A label or annotation of an alert. `element`: labels of the elements of its expression; null when
// they are not known. Returns the expressions of its queries; with errors, some are null.
struct LabelFlow;
std::vector<std::shared_ptr<const lang::Expr>> CheckTemplate(const ExprContext& context,
                                                             const lang::NamedText& text,
                                                             const LabelFlow* element);

// Annotations that are no texts for people. `capture` says what is captured as an issue begins:
// stacks. `onset` says that the trouble began `value` seconds before: value.
void CheckFixedAnnotations(const ExprContext& context,
                           const std::vector<lang::NamedText>& annotations);

// The metric name that a selector fixes by "=", or "".
std::string_view MetricNameOf(const lang::SelectorExpr& selector);
// Metrics without which the expression has no result, sorted. See CheckedRule::needs.
std::vector<std::string> RequiredMetrics(const lang::Expr& expr);

}  // namespace pitwall::check
