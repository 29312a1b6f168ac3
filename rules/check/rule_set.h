// Rule files that make sense: types fit, parameters are known, windows are affordable, and
// everything in them is evaluated already. Defaults are filled in and names resolved, so that the
// planner decides nothing twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rules/check/metric_catalog.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/files/rule_file.h"
#include "services/model/windows/demand.h"

namespace pitwall::check {

inline constexpr size_t kMaxRules = 20'000;  // in one rule set

struct CheckOptions {
  int64_t default_interval = 0;  // position units, as all below; > 0
  int64_t default_lookback = 0;
  int64_t default_step_interval = 0;
  int64_t default_step_lookback = 0;
  // A query over samples that are all there, in the past: it may read at fixed times and ahead, and
  // keeps no state that a window could cost.
  bool stored_samples = false;
  const MetricCatalog* catalog = &MetricCatalog::Builtin();
};

// A label or annotation of a rule.
struct CheckedText {
  std::string name;
  std::string text;
  // Of an alert: what its template queries, in the template's order.
  std::vector<std::shared_ptr<const lang::Expr>> queries;
};

struct CheckedRule {
  const lang::RuleText* text = nullptr;  // in CheckedGroup::file
  std::string name;                      // pack/group/alert, plus #n for repeats within the group
  bool attempt_scope = false;
  std::vector<CheckedText> labels;       // the group's under the rule's, sorted by name
  std::vector<CheckedText> annotations;  // sorted by name
  // Metrics that must be there for the rule to say anything: what `needs` lists, else what the
  // expression cannot do without. Sorted.
  std::vector<std::string> needs;
};

struct CheckedGroup {
  lang::RuleFilePtr file;
  const lang::GroupText* text = nullptr;
  std::string name;  // pack/group
  ClockSpec clock;
  int64_t interval = 0;
  int64_t lookback = 0;
  int64_t subquery_step = 0;  // of subqueries that say none
  std::vector<CheckedRule> rules;
};

// Groups stand in the order of evaluation: by pack, then by position in the file.
struct CheckedRuleSet {
  std::vector<CheckedGroup> groups;
};

// Adds what is wrong or odd to `diagnostics`. With errors among them the result is not fit for
// planning.
CheckedRuleSet CheckRuleSet(std::vector<lang::RuleFilePtr> files, const CheckOptions& options,
                            lang::Diagnostics* diagnostics);

}  // namespace pitwall::check
