// Validated rule files: types match, parameters are declared, windows are affordable, and the
// engine supports all syntax. Defaults are applied and names are resolved, so the planner does not
// repeat these steps.
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

inline constexpr size_t kMaxRules = 20'000;  // maximum number of rules per rule set

struct CheckOptions {
  int64_t default_interval = 0;  // in position units, like the fields below; > 0
  int64_t default_lookback = 0;
  int64_t default_step_interval = 0;
  int64_t default_step_lookback = 0;
  // True for queries over stored samples. Such queries may read at fixed times and in the future,
  // and their windows keep no state.
  bool stored_samples = false;
  const MetricCatalog* catalog = &MetricCatalog::Builtin();
};

// Label or annotation of a rule.
struct CheckedText {
  std::string name;
  std::string text;
  // Queries in the template in order, for alerts only.
  std::vector<std::shared_ptr<const lang::Expr>> queries;
};

struct CheckedRule {
  const lang::RuleText* text = nullptr;  // owned by CheckedGroup::file
  std::string name;  // pack/group/alert, with #n appended for repeats within the group
  bool attempt_scope = false;
  std::vector<CheckedText> labels;       // merged with the group's labels, sorted by name
  std::vector<CheckedText> annotations;  // sorted by name
  // Metrics that must exist before the rule is evaluated: those in the rule's `needs`, or those
  // that the expression requires. Sorted.
  std::vector<std::string> needs;
};

struct CheckedGroup {
  lang::RuleFilePtr file;
  const lang::GroupText* text = nullptr;
  std::string name;  // pack/group
  ClockSpec clock;
  int64_t interval = 0;
  int64_t lookback = 0;
  int64_t subquery_step = 0;  // default step of subqueries
  std::vector<CheckedRule> rules;
};

// Groups in evaluation order: by pack, then by position in the file.
struct CheckedRuleSet {
  std::vector<CheckedGroup> groups;
};

// Checks the files, and adds errors and warnings to `diagnostics`. If there are errors, the result
// must not be planned.
CheckedRuleSet CheckRuleSet(std::vector<lang::RuleFilePtr> files, const CheckOptions& options,
                            lang::Diagnostics* diagnostics);

}  // namespace pitwall::check
