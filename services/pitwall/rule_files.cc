#include "services/pitwall/rule_files.h"

#include "services/base/files.h"
#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/pitwall/starter_pack.h"

namespace pitwall {

codec::RuleFile StarterPack() { return {"starter.yaml", std::string(kStarterPack)}; }

StatusOr<codec::RuleSet> ReadRuleSet(const std::vector<std::string>& files,
                                     const std::string& overrides, int64_t evaluation_interval_ns) {
  codec::RuleSet rules;
  rules.evaluation_interval_ns = evaluation_interval_ns;
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(path));
    rules.files.push_back({BaseName(path), std::move(text)});
  }
  if (files.empty()) {
    PITWALL_LOG(kInfo, "rules", "no --rules given: using the starter pack that is built in");
    rules.files.push_back(StarterPack());
  }
  if (!overrides.empty()) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(overrides));
    rules.overrides = codec::RuleFile{BaseName(overrides), std::move(text)};
  }
  return rules;
}

plan::RuleSetText RuleSetTextOf(const codec::RuleSet& rules) {
  plan::RuleSetText text;
  for (const codec::RuleFile& file : rules.files) text.files.push_back({file.name, file.content});
  if (rules.overrides.has_value())
    text.overrides = {rules.overrides->name, rules.overrides->content};
  return text;
}

Status CheckNewRuleSet(const codec::RuleSet& rules, const plan::RuleLimits& limits) {
  return plan::CompileRuleSet(RuleSetTextOf(rules), rules.evaluation_interval_ns, nullptr,
                              {.limits = &limits})
      .status();
}

}  // namespace pitwall
