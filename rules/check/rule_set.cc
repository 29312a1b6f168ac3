#include "rules/check/rule_set.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "rules/check/label_flow.h"
#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using lang::Diagnostics;
using lang::GroupText;
using lang::NamedText;
using lang::RuleFilePtr;
using lang::RuleText;
using lang::Severity;

// Returns the texts in `over` and the texts in `base` that `over` does not override, sorted by
// name.
std::vector<const NamedText*> Merge(const std::vector<NamedText>& base,
                                    const std::vector<NamedText>& over) {
  std::vector<const NamedText*> out;
  for (const NamedText& text : over) out.push_back(&text);
  for (const NamedText& text : base) {
    const bool hidden = std::any_of(
        over.begin(), over.end(), [&](const NamedText& other) { return other.name == text.name; });
    if (!hidden) out.push_back(&text);
  }
  std::sort(out.begin(), out.end(),
            [](const NamedText* a, const NamedText* b) { return a->name < b->name; });
  return out;
}

class SetChecker {
 public:
  SetChecker(const CheckOptions& options, Diagnostics* diagnostics)
      : options_(options), diagnostics_(diagnostics) {}

  CheckedRuleSet Run(std::vector<RuleFilePtr> files) {
    std::stable_sort(files.begin(), files.end(),
                     [](const RuleFilePtr& a, const RuleFilePtr& b) { return a->pack < b->pack; });
    for (size_t i = 1; i < files.size(); ++i) {
      if (files[i]->pack != files[i - 1]->pack) continue;
      diagnostics_->Add(
          Severity::kError, files[i]->file, {},
          Cat("pack ", Quote(files[i]->pack), " is also the stem of ", files[i - 1]->file->name(),
              ": the names of packs, from which rules get theirs, must differ"));
    }
    CollectRecorded(files);
    CheckedRuleSet set;
    for (const RuleFilePtr& file : files) {
      for (const GroupText& group : file->groups) set.groups.push_back(CheckGroup(file, group));
    }
    return set;
  }

 private:
  void CollectRecorded(const std::vector<RuleFilePtr>& files) {
    size_t rules = 0;
    for (const RuleFilePtr& file : files) {
      for (const GroupText& group : file->groups) {
        rules += group.rules.size();
        for (const RuleText& rule : group.rules) {
          if (rule.alert) continue;
          RecordedMetric& metric = recorded_[rule.name];
          (group.step_clock ? metric.on_step : metric.on_time) = true;
        }
      }
      if (rules > kMaxRules) {
        diagnostics_->Add(Severity::kError, file->file, {},
                          Cat("more than ", kMaxRules, " rules in the rule set"));
        return;
      }
    }
  }

  CheckedGroup CheckGroup(const RuleFilePtr& file, const GroupText& text) {
    CheckedGroup group;
    group.file = file;
    group.text = &text;
    group.name = Cat(file->pack, "/", text.name);
    group.clock = {text.step_clock, text.mode};
    group.interval = text.interval.value_or(text.step_clock ? options_.default_step_interval
                                                            : options_.default_interval);
    group.lookback = text.lookback.value_or(text.step_clock ? options_.default_step_lookback
                                                            : options_.default_lookback);
    group.subquery_step =
        text.step_clock ? options_.default_step_interval : options_.default_interval;
    if (text.query_offset.value_or(0) != 0) {
      diagnostics_->Add(Severity::kInfo, file->file, text.position,
                        "query_offset has no effect here: an evaluation waits for the watermark, "
                        "so late samples have "
                        "already been waited for");
    }
    absl::flat_hash_map<std::string, int> repeats;
    absl::flat_hash_set<std::string> names;
    for (const RuleText& rule : text.rules) {
      CheckedRule checked;
      checked.text = &rule;
      const std::string base = Cat(group.name, "/", rule.name);
      const int count = ++repeats[base];
      checked.name = count == 1 ? base : Cat(base, "#", count);
      if (!names.insert(checked.name).second) {
        diagnostics_->Add(Severity::kError, file->file, rule.name_position,
                          Cat("two rules of the group are called ", Quote(checked.name)));
      }
      CheckRule(group, rule, &checked);
      group.rules.push_back(std::move(checked));
    }
    return group;
  }

  void CheckRule(const CheckedGroup& group, const RuleText& rule, CheckedRule* checked) {
    checked->attempt_scope = group.clock.step || rule.scope == lang::Scope::kAttempt;
    const bool has_clear = rule.clear.has_value() && rule.clear->expr != nullptr;
    std::vector<const lang::Expr*> exprs;
    std::vector<const lang::Source*> sources;
    if (rule.expr.expr != nullptr) {
      exprs.push_back(rule.expr.expr.get());
      sources.push_back(&rule.expr.source);
    }
    if (has_clear) {
      exprs.push_back(rule.clear->expr.get());
      sources.push_back(&rule.clear->source);
    }
    std::optional<LabelFlow> element;
    for (size_t i = 0; i < exprs.size(); ++i) {
      const ExprContext of_expr{*sources[i], group, rule, options_, recorded_, diagnostics_};
      const bool sound = CheckExpr(of_expr, *exprs[i]);
      if (sound && exprs[i] == rule.expr.expr.get()) element = LabelsOf(of_expr, *exprs[i]);
    }
    const ExprContext of_texts{rule.expr.source, group, rule, options_, recorded_, diagnostics_};
    const auto check_texts = [&](const std::vector<const NamedText*>& texts) {
      std::vector<CheckedText> out;
      for (const NamedText* text : texts) {
        out.push_back({text->name, text->text(), {}});
        // Labels of recording rules are plain text, as in Prometheus.
        if (rule.alert)
          out.back().queries = CheckTemplate(of_texts, *text, element ? &*element : nullptr);
      }
      return out;
    };
    checked->labels = check_texts(Merge(group.text->labels, rule.labels));
    checked->annotations = check_texts(Merge({}, rule.annotations));
    CheckFixedAnnotations(of_texts, rule.annotations);
    // After a parse error, unused parameters cannot be detected.
    const bool all_parsed = rule.expr.expr != nullptr && (!rule.clear.has_value() || has_clear);
    if (all_parsed) {
      const ExprContext context{rule.expr.source, group, rule, options_, recorded_, diagnostics_};
      CheckParameters(context, exprs, sources);
    }
    Needs(group, rule, checked);
    CheckTimes(group, rule, diagnostics_);
    CheckRecordedName(group, rule, options_, diagnostics_);
    duplicates_.Check(group, rule, *checked, diagnostics_);
  }

  // Returns false if the types do not match. In that case, no further checks were run.
  bool CheckExpr(const ExprContext& context, const lang::Expr& expr) {
    if (!CheckTypes(context, expr)) return false;
    const bool clear = context.rule.clear.has_value() && &expr == context.rule.clear->expr.get();
    CheckOutcome(context, expr,
                 clear                ? Outcomes::kClear
                 : context.rule.alert ? Outcomes::kAlert
                                      : Outcomes::kRecord);
    CheckLabels(context, expr);
    CheckSupport(context, expr);
    CheckWindows(context, expr);
    CheckClock(context, expr);
    CheckNames(context, expr);
    return true;
  }

  void Needs(const CheckedGroup& group, const RuleText& rule, CheckedRule* checked) {
    if (!rule.alert) return;
    if (rule.needs) {
      for (const lang::NeedText& need : *rule.needs) {
        checked->needs.push_back(need.metric);
        CheckNeed(group, need);
      }
      std::sort(checked->needs.begin(), checked->needs.end());
      checked->needs.erase(std::unique(checked->needs.begin(), checked->needs.end()),
                           checked->needs.end());
    } else if (rule.expr.expr != nullptr) {
      checked->needs = RequiredMetrics(*rule.expr.expr);
    }
  }

  void CheckNeed(const CheckedGroup& group, const lang::NeedText& need) {
    if (recorded_.contains(need.metric)) return;
    const MetricInfo* metric = options_.catalog->Find(need.metric);
    if (metric != nullptr && group.clock.step && !metric->has_steps) {
      diagnostics_->Add(
          Severity::kError, group.file->file, need.position,
          Cat("samples of ", Quote(need.metric), " carry no step: the need would never be met"));
    } else if (metric == nullptr) {
      diagnostics_->Add(
          Severity::kWarning, group.file->file, need.position,
          Cat("metric ", Quote(need.metric), " is not in the catalog of known series"));
    }
  }

  const CheckOptions& options_;
  Diagnostics* diagnostics_;
  RecordedMetrics recorded_;
  DuplicateRules duplicates_;
};

}  // namespace

CheckedRuleSet CheckRuleSet(std::vector<RuleFilePtr> files, const CheckOptions& options,
                            Diagnostics* diagnostics) {
  return SetChecker(options, diagnostics).Run(std::move(files));
}

}  // namespace pitwall::check
