#include "services/offline/ruletest/unit_test_rules.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "rules/check/rule_set.h"
#include "rules/lang/files/rule_file.h"
#include "rules/lang/parser.h"
#include "rules/plan/planner/planner.h"
#include "rules/templates/go_format.h"
#include "rules/templates/template_lexer.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"

namespace pitwall::offline {

namespace {

constexpr char kWatchAll[] = "count({__name__!=\"\"}) < 0";

bool HasOwnKeys(const lang::GroupText& group) {
  const auto own = [](const lang::RuleText& rule) {
    return rule.clear.has_value() || rule.scope.has_value() || !rule.parameters.empty() ||
           rule.needs.has_value();
  };
  return group.step_clock || group.align_job || group.lookback.has_value() ||
         std::any_of(group.rules.begin(), group.rules.end(), own);
}

void WriteExternals(const UnitTest& test, std::vector<lang::NamedText>* texts) {
  if (test.external_labels.empty() && test.external_url.empty()) return;
  for (lang::NamedText& text : *texts) {
    std::string written = WithExternals(text.text(), test);
    // If the text is unchanged, its positions still refer to the file.
    if (written != text.text())
      text.source = lang::Source(text.source.file()->name(), std::move(written));
  }
}

lang::GroupText WatchAll(lang::Diagnostics* diagnostics) {
  lang::RuleText rule;
  rule.name = "pitwall_watch_all";
  rule.expr.source = lang::Source("rules test", kWatchAll);
  rule.expr.expr = lang::ParseExpr(rule.expr.source, diagnostics);
  rule.needs.emplace();
  lang::GroupText group;
  group.name = rule.name;
  group.rules.push_back(std::move(rule));
  return group;
}

// Group that is independent of its file, so that groups from several files can be ordered freely.
struct LooseGroup {
  yaml::FileTextPtr file;
  std::string pack;
  lang::GroupText text;
};

// Returns true if token `i` is a field of the preceding expression, as in $x.field or .Field.field.
bool IsFieldOf(const std::vector<templates::Token>& tokens, size_t i) {
  using Kind = templates::Token::Kind;
  if (i >= tokens.size() || tokens[i].kind != Kind::kField || tokens[i].spaced || i == 0)
    return false;
  const Kind before = tokens[i - 1].kind;
  return before == Kind::kVariable || before == Kind::kField || before == Kind::kRight;
}

std::string_view NameOf(const templates::Token& token) {
  const std::string_view text = token.text;
  return StartsWith(text, "$") || StartsWith(text, ".") ? text.substr(1) : text;
}

// Returns the value of the external label or URL reference that starts at token `i`, or nullopt for
// any other token. `last` receives the index of the last token in the reference.
std::optional<std::string> External(const std::vector<templates::Token>& tokens, size_t i,
                                    const UnitTest& test, size_t* last) {
  using Kind = templates::Token::Kind;
  *last = i;
  bool of_root = tokens[i].kind == Kind::kField && !IsFieldOf(tokens, i);
  const bool variable = tokens[i].kind == Kind::kVariable;
  if (variable && NameOf(tokens[i]).empty() && IsFieldOf(tokens, i + 1)) {
    of_root = true;
    ++*last;
  }
  const std::string_view name = NameOf(tokens[*last]);
  if (of_root ? name == "ExternalURL"
              : name == "externalURL" && (variable || tokens[i].kind == Kind::kName))
    return test.external_url;
  if (!(of_root ? name == "ExternalLabels" : variable && name == "externalLabels") ||
      !IsFieldOf(tokens, *last + 1))
    return std::nullopt;
  const std::string_view label = NameOf(tokens[++*last]);
  for (const auto& [key, value] : test.external_labels) {
    if (key == label) return value;
  }
  return std::string();
}

}  // namespace

std::string WithExternals(const std::string& text, const UnitTest& test) {
  const auto tokens = templates::Tokenize(text);
  if (!tokens.ok()) return text;  // the checker will report the error
  std::string out;
  size_t done = 0;
  for (size_t i = 0; i < tokens->size(); ++i) {
    size_t last = i;
    const auto value = External(*tokens, i, test, &last);
    if (!value.has_value()) continue;
    out.append(text, done, (*tokens)[i].at - done);
    out += templates::GoQuote(*value);
    done = (*tokens)[last].after;
    i = last;
  }
  return out.append(text, done);
}

StatusOr<TestRules> ReadTestRules(const UnitTestFile& file, const std::string& folder) {
  TestRules rules;
  std::set<std::string> seen;
  for (const std::string& pattern : file.rule_files) {
    ASSIGN_OR_RETURN(
        const std::vector<std::string> paths,
        Glob(pattern.empty() || StartsWith(pattern, "/") ? pattern : Cat(folder, "/", pattern)));
    if (paths.empty()) rules.unmatched.push_back(pattern);
    for (const std::string& path : paths) {
      if (!seen.insert(path).second) continue;
      ASSIGN_OR_RETURN(std::string text, ReadFile(path));
      rules.files.push_back({path, std::move(text)});
    }
  }
  return rules;
}

StatusOr<TestProgram> CompileTestRules(const TestRules& rules, const UnitTestFile& file,
                                       const UnitTest& test, bool watch_all,
                                       lang::Diagnostics* diagnostics) {
  TestProgram out;
  std::vector<LooseGroup> groups;
  for (const RuleSetFile& text : rules.files) {
    const auto parsed = lang::ParseRuleFile(text.name, text.text, diagnostics);
    for (lang::GroupText& group : parsed->groups) {
      out.own_keys = out.own_keys || HasOwnKeys(group);
      if (!group.step_clock) {
        if (!file.own_intervals || !group.interval.has_value())
          group.interval = file.evaluation_interval;
        group.align_job = true;
      }
      WriteExternals(test, &group.labels);
      for (lang::RuleText& rule : group.rules) {
        if (!rule.alert) continue;
        WriteExternals(test, &rule.labels);
        WriteExternals(test, &rule.annotations);
      }
      groups.push_back({parsed->file, parsed->pack, std::move(group)});
    }
  }
  // As in promtool, unlisted groups have the same rank as the first listed group.
  const auto place = [&](const LooseGroup& group) {
    const auto& order = file.group_eval_order;
    const auto at = std::find(order.begin(), order.end(), group.text.name);
    return at == order.end() ? 0 : at - order.begin();
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  if (watch_all) {
    lang::GroupText all = WatchAll(diagnostics);
    all.interval = file.evaluation_interval;
    all.align_job = true;
    groups.push_back({all.rules[0].expr.source.file(), "rules-test", std::move(all)});
  }

  std::vector<lang::RuleFilePtr> files;
  for (LooseGroup& group : groups) {
    auto one = std::make_shared<lang::RuleFile>();
    one->file = group.file;
    // The number in the pack name determines the evaluation order of the groups.
    char number[16];
    std::snprintf(number, sizeof(number), "%06zu", files.size());
    one->pack = Cat(number, ":", group.pack);
    one->groups.push_back(std::move(group.text));
    files.push_back(std::move(one));
  }
  check::CheckOptions options;
  options.default_interval = file.evaluation_interval;
  options.default_lookback = plan::kDefaultLookback;
  options.default_step_interval = plan::kDefaultStepInterval;
  options.default_step_lookback = plan::kDefaultStepLookback;
  const check::CheckedRuleSet checked = check::CheckRuleSet(std::move(files), options, diagnostics);
  diagnostics->Sort();
  RETURN_IF_ERROR(diagnostics->ToStatus());
  out.program = std::make_shared<plan::Program>(plan::PlanRuleSet(checked));
  RETURN_IF_ERROR(engine::CheckProgram(*out.program));
  return out;
}

}  // namespace pitwall::offline
