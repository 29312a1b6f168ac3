// Warnings about entire rules: durations that have no effect, duplicate rules, and recorded names
// that already have another meaning.
#include <algorithm>
#include <string>
#include <vector>

#include "rules/check/label_flow.h"
#include "rules/check/validators.h"
#include "rules/lang/printer.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::check {
namespace {

using lang::Severity;

std::string Length(const CheckedGroup& group, int64_t positions) {
  return group.clock.step ? Cat(FormatDouble(static_cast<double>(positions) / kStepUnit), " steps")
                          : FormatDuration(positions);
}

// Returns true if a rule derives a catalog series from another exporter's series and may therefore
// record the catalog name. Such a rule reads an alias, a foreign series, or a metric outside the
// catalog.
bool TranslatesInto(const MetricInfo& metric, const lang::Expr& expr,
                    const MetricCatalog& catalog) {
  bool foreign = false;
  bool any = false;
  lang::Visit(expr, [&](const lang::Expr& node) {
    const auto* selector = node.As<lang::SelectorExpr>();
    if (selector == nullptr) return;
    any = true;
    const std::string_view name = MetricNameOf(*selector);
    const MetricInfo* known = catalog.Find(name);
    if (known == nullptr || known->producer == Producer::kForeign ||
        (known == &metric && known->name != name))
      foreign = true;
  });
  return foreign || !any;
}

// Returns true if the rule sets the label derived_from, which distinguishes the recorded series
// from the producer's series. hostmetrics uses the same names with other labels, so the expression
// alone does not show where its series come from.
bool HasDerivedFromLabel(const CheckedGroup& group, const lang::RuleText& rule) {
  const auto derived = [](const lang::NamedText& label) { return label.name == "derived_from"; };
  return std::ranges::any_of(group.text->labels, derived) ||
         std::ranges::any_of(rule.labels, derived);
}

}  // namespace

void CheckTimes(const CheckedGroup& group, const lang::RuleText& rule,
                lang::Diagnostics* diagnostics) {
  if (rule.hold > 0 && rule.hold < group.interval) {
    diagnostics->Add(
        Severity::kWarning, group.file->file, rule.hold_position,
        Cat("for: ", Length(group, rule.hold), " is shorter than the group's interval: the alert ",
            "fires at the second evaluation, after ", Length(group, group.interval)));
  }
}

void CheckRecordedName(const CheckedGroup& group, const lang::RuleText& rule,
                       const CheckOptions& options, lang::Diagnostics* diagnostics) {
  if (rule.alert || rule.expr.expr == nullptr) return;
  if (rule.name == "ALERTS" || rule.name == "ALERTS_FOR_STATE") {
    diagnostics->Add(
        Severity::kWarning, group.file->file, rule.name_position,
        Cat(rule.name, " is a series that the engine records for alerts: use another name"));
    return;
  }
  const MetricInfo* metric = options.catalog->Find(rule.name);
  if (metric == nullptr || HasDerivedFromLabel(group, rule) ||
      TranslatesInto(*metric, *rule.expr.expr, *options.catalog))
    return;
  diagnostics->Add(
      Severity::kWarning, group.file->file, rule.name_position,
      Cat(Quote(rule.name), " is a series of the catalog (", metric->help,
          "): what the rule records would mix with it; use another name, for example level:",
          metric->name, ":operation, or a label derived_from"));
}

void DuplicateRules::Check(const CheckedGroup& group, const lang::RuleText& rule,
                           const CheckedRule& checked, lang::Diagnostics* diagnostics) {
  if (rule.expr.expr == nullptr) return;
  std::string key = Cat(group.clock.ToString(), "\n", rule.alert ? "alert " : "record ",
                        Quote(rule.name), "\n", lang::Print(*rule.expr.expr), "\n");
  for (const CheckedText& label : checked.labels)
    CatTo(key, Quote(label.name), "=", Quote(label.text), "\n");
  for (const lang::ParameterText& parameter : rule.parameters)
    CatTo(key, "$", parameter.name, "=", FormatDouble(parameter.value), "\n");
  // These values differ between alerts that have equal names and expressions but different
  // severities.
  CatTo(key, rule.hold, " ", rule.keep_firing, " ");
  if (rule.clear && rule.clear->expr != nullptr) key += lang::Print(*rule.clear->expr);
  const std::string place = Cat(group.file->file->name(), ":", rule.position.line);
  const auto [found, inserted] = seen_.emplace(std::move(key), place);
  if (inserted) return;
  diagnostics->Add(Severity::kWarning, group.file->file, rule.name_position,
                   Cat("this rule is a duplicate of the one at ", found->second,
                       ", with the same name, labels and expression"));
}

}  // namespace pitwall::check
