#include "services/history/promapi/rule_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "rules/lang/files/rule_file.h"
#include "rules/lang/printer.h"
#include "services/base/text/strings.h"

namespace pitwall::promapi {
namespace {

double InSeconds(int64_t nanos) { return static_cast<double>(nanos) / 1e9; }

// Merges two lists of labels or annotations. `inner` takes precedence.
Labels TextsOf(const std::vector<lang::NamedText>& outer,
               const std::vector<lang::NamedText>& inner) {
  std::vector<Label> pairs;
  for (const std::vector<lang::NamedText>* texts : {&outer, &inner}) {
    for (const lang::NamedText& text : *texts) pairs.push_back({text.name, text.text()});
  }
  return Labels::FromPairs(std::move(pairs));
}

}  // namespace

std::vector<RuleGroupInfo> RuleGroupsOf(const RuleSet& rules) {
  std::vector<RuleGroupInfo> out;
  for (const RuleSetFile& file : rules.files) {
    lang::Diagnostics ignored;  // the compiler reports unparsable expressions
    const lang::RuleFilePtr parsed = lang::ParseRuleFile(file.name, file.text, &ignored);
    for (const lang::GroupText& group : parsed->groups) {
      RuleGroupInfo info;
      info.name = Cat(parsed->pack, "/", group.name);
      info.file = file.name;
      info.interval_seconds =
          InSeconds(group.interval.value_or(group.step_clock ? 0 : rules.evaluation_interval.ns()));
      info.limit = group.limit;
      std::map<std::string, int> seen;
      for (const lang::RuleText& rule : group.rules) {
        RuleInfo one;
        one.name = rule.name;
        one.id = Cat(info.name, "/", rule.name);
        if (const int count = ++seen[rule.name]; count > 1) CatTo(one.id, "#", count);
        if (rule.expr.expr != nullptr) one.query = lang::Print(*rule.expr.expr);
        one.alerting = rule.alert;
        one.hold_seconds = InSeconds(rule.hold);
        one.keep_firing_seconds = InSeconds(rule.keep_firing);
        one.labels = TextsOf(group.labels, rule.labels);
        one.annotations = TextsOf({}, rule.annotations);
        info.rules.push_back(std::move(one));
      }
      // An `include` may remove all rules of a group. Such a group is skipped.
      if (!info.rules.empty()) out.push_back(std::move(info));
    }
  }
  return out;
}

}  // namespace pitwall::promapi
