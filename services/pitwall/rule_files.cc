#include "services/pitwall/rule_files.h"

#include "services/base/files.h"
#include "services/base/log.h"
#include "services/base/nearest.h"
#include "services/base/strings.h"
#include "services/pitwall/packs.h"

namespace pitwall {

namespace {

constexpr std::string_view kSuffix = ".yaml";

std::string_view NameOf(const PackText& pack) {
  return pack.file.substr(0, pack.file.size() - kSuffix.size());
}

}  // namespace

std::vector<std::string> PackNames() {
  std::vector<std::string> names;
  for (const PackText& pack : kPacks) names.emplace_back(NameOf(pack));
  return names;
}

StatusOr<codec::RuleFile> ShippedPack(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PackText& pack : kPacks) {
    if (NameOf(pack) == name)
      return codec::RuleFile{std::string(pack.file), std::string(pack.text)};
    names.push_back(NameOf(pack));
  }
  return NotFound(Cat("no pack ", Quote(name), " is built in", DidYouMean(name, names)));
}

StatusOr<codec::RuleSet> ReadRuleSet(const std::vector<std::string>& files,
                                     const std::string& overrides, int64_t evaluation_interval_ns) {
  codec::RuleSet rules;
  rules.evaluation_interval_ns = evaluation_interval_ns;
  for (const std::string& path : files) {
    if (StartsWith(path, kPackPrefix)) {
      ASSIGN_OR_RETURN(codec::RuleFile pack, ShippedPack(path.substr(kPackPrefix.size())));
      rules.files.push_back(std::move(pack));
      continue;
    }
    ASSIGN_OR_RETURN(std::string text, ReadFile(path));
    rules.files.push_back({BaseName(path), std::move(text)});
  }
  if (files.empty()) {
    PITWALL_LOG(kInfo, "rules", "no --rules given: using the starter pack that is built in");
    ASSIGN_OR_RETURN(codec::RuleFile pack, ShippedPack("starter"));
    rules.files.push_back(std::move(pack));
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
