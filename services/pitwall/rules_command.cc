// `pitwall rules check|list|test|golden`.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "rules/plan/compile.h"
#include "rules/plan/cost/program_text.h"
#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"
#include "services/offline/promqltest/golden_run.h"
#include "services/offline/ruletest/rule_unit_tests.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/rule_definitions.h"
#include "services/pitwall/rule_files.h"
#include "services/pitwall/rule_list.h"
#include "services/pitwall/rule_markdown.h"
#include "services/pitwall/rules_report.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

const std::vector<FlagSpec>& RuleFlags() {
  static const std::vector<FlagSpec> specs = {
      {"explain", Kind::kSwitch, "", "check: plan and estimated cost of each rule and file"},
      {"json", Kind::kSwitch, "",
       "check: findings and costs as one JSON object on stdout; list: one array, with every field"},
      {"markdown", Kind::kSwitch, "",
       "list: a page for people (docs/rules.md is that of the packs)"},
      {"strict", Kind::kSwitch, "", "check: warnings fail too (exit 1)"},
      {"series", Kind::kOne, "N", "check: series that a selector matches, for costs (1000)"},
      {"sample-interval", Kind::kOne, "DURATION",
       "check: between two samples of a series, for costs (1s)"},
      {"limit", Kind::kMany, "NAME=VALUE",
       "check: another limit of a rule, as rules.limits in the configuration"},
      {"overrides", Kind::kOne, "FILE", "parameters per job"},
      {"job", Kind::kOne, "JOB",
       "check --explain: the values of this id or name, and where they come from"},
      {"baseline", Kind::kMany, "PATH", "summaries of finished jobs, and folders with them"},
      {"evaluation-interval", Kind::kOne, "DURATION", "of groups without one (1m)"},
      {"verbose", Kind::kSwitch, "", "golden: print each unsupported eval, with the reason"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

StatusOr<plan::CostOptions> CostOptionsOf(const Flags& flags) {
  plan::CostOptions costs;
  if (const auto text = flags.One("series")) {
    const std::optional<int64_t> series = ParseInt(*text);
    if (!series || *series < 1)
      return InvalidArgument(Cat("--series wants a number greater than 0, not ", Quote(*text)));
    costs.series = *series;
  }
  if (const auto text = flags.One("sample-interval")) {
    ASSIGN_OR_RETURN(costs.sample_interval, ParseDuration(*text));
    if (costs.sample_interval <= 0)
      return InvalidArgument("--sample-interval must be longer than 0");
  }
  return costs;
}

// A line for each parameter: what the files say of the job. What people set of it while it runs,
// `rules status` and `jobs parameters` tell.
void PrintParameters(const plan::Program& program, const std::string& job) {
  Print(Cat("parameters of job ", TerminalLine(job), "\n"));
  for (const auto& [rule, definition] : RuleDefinitionsOf(program, job, job)) {
    for (const history::RuleParameter& one : definition.parameters) {
      Print(Cat("  ", rule, "  ", one.name, " = ", one.now, "  (",
                one.source == "rule" ? std::string("rule")
                                     : Cat("overrides file; the rule has ", one.value),
                ")\n"));
    }
  }
}

StatusOr<int> Run(const std::string& verb, const std::vector<std::string>& files,
                  const Flags& flags) {
  if (flags.Has("json") && verb != "check" && verb != "list")
    return InvalidArgument("--json is for rules check and rules list");
  if (flags.Has("markdown") && verb != "list")
    return InvalidArgument("--markdown is for rules list");
  if (verb == "test") return offline::RunRuleTests(files, ShippedPack);
  if (verb == "golden") return offline::RunGolden(files, {.verbose = flags.Has("verbose")});
  int64_t interval = plan::kDefaultInterval;
  if (const auto text = flags.One("evaluation-interval")) {
    const auto parsed = ParseDuration(*text);
    RETURN_IF_ERROR(Annotate(parsed.status(), "--evaluation-interval"));
    if (*parsed <= 0) return InvalidArgument("--evaluation-interval must be greater than 0");
    interval = *parsed;
  }
  std::vector<lang::Inclusion> inclusions;
  ASSIGN_OR_RETURN(RuleSet rules, ReadRuleSet({.files = files,
                                               .overrides = flags.One("overrides").value_or(""),
                                               .baselines = flags.Many("baseline")},
                                              interval, &inclusions));
  ASSIGN_OR_RETURN(const plan::CostOptions costs, CostOptionsOf(flags));
  plan::RuleLimits limits;
  for (const std::string& limit : flags.Many("limit"))
    RETURN_IF_ERROR(plan::SetLimit(limit, &limits));
  const bool check = verb == "check";
  const bool json = check && flags.Has("json");
  lang::Diagnostics diagnostics;
  const size_t file_count = rules.files.size();
  const auto compiled = engine::CompiledRules::Compile(
      std::move(rules), {.limits = check ? &limits : nullptr}, &diagnostics);
  const plan::Program* program = compiled.ok() ? (*compiled)->program().get() : nullptr;
  if (!diagnostics.list().empty()) PrintError(diagnostics.ToString() + "\n");
  if (json) PrintJson(RulesReport(diagnostics, program, costs) + "\n");
  if (program == nullptr) return kCheckFailed;
  if (const Status runs = engine::CheckProgram(*program); !runs.ok()) {
    PrintError(Cat(ToStd(runs.message()), "\n"));
    return kCheckFailed;
  }
  if (verb == "list") {
    const std::string text = flags.Has("json")       ? RulesAsJson(*program) + "\n"
                             : flags.Has("markdown") ? RulesAsMarkdown(*program)
                                                     : RulesAsTable(*program);
    flags.Has("json") ? PrintJson(text) : Print(text);
    return kFine;
  }
  if (flags.Has("explain") && !json) {
    for (const lang::Inclusion& one : inclusions) {
      Print(Cat(one.by, " includes of pack ", one.pack, ": ",
                one.alerts.empty() ? "all rules" : Join(one.alerts, ", "), "\n"));
    }
    Print(plan::Explain(*program, costs));
    if (const auto job = flags.One("job")) PrintParameters(*program, *job);
  }
  const auto warnings = std::count_if(
      diagnostics.list().begin(), diagnostics.list().end(),
      [](const lang::Diagnostic& d) { return d.severity == lang::Severity::kWarning; });
  const bool refused = flags.Has("strict") && warnings > 0;
  if (json) return refused ? kCheckFailed : kFine;
  size_t count = 0;
  for (const plan::DomainPlan& domain : program->domains) {
    for (const plan::Group& group : domain.groups) count += group.rules.size();
  }
  std::string verdict = Cat(count, " rules in ", file_count, " files: no errors");
  if (warnings > 0) {
    CatTo(verdict, ", ", warnings, warnings == 1 ? " warning" : " warnings",
          refused ? " (refused by --strict)" : "");
  }
  Print(verdict + "\n");
  return refused ? kCheckFailed : kFine;
}

}  // namespace

int RunRules(const std::vector<std::string>& arguments) {
  auto flags = Flags::Parse(RuleFlags(), arguments);
  const std::string verb = flags.ok() && !flags->positional().empty() ? flags->positional()[0] : "";
  const bool help = flags.ok() && flags->Has("help");
  if (help ||
      (flags.ok() && verb != "check" && verb != "list" && verb != "test" && verb != "golden")) {
    const std::string text =
        Cat("pitwall rules check|list|test|golden FILE… [flags]\n", FlagHelp(RuleFlags()),
            "check and list also take shipped packs, as pack:NAME: ", Join(PackNames(), ", "),
            ".\n`pitwall rules status --job JOB` says what the rules say of a job.\ngolden runs "
            "scripts in the dialect of Prometheus' promqltest through this engine, "
            "and ends with\n\"N passed, N failed, N unsupported\".\n");
    help ? Print(text) : PrintError(text);
    return help ? kFine : kUsage;
  }
  StatusOr<int> code = flags.ok() ? StatusOr<int>(kUsage) : StatusOr<int>(flags.status());
  if (flags.ok()) {
    const std::vector<std::string> files(flags->positional().begin() + 1,
                                         flags->positional().end());
    code = Run(verb, files, *flags);
  }
  if (code.ok()) return *code;
  PrintError(Cat("pitwall rules: ", ToStd(code.status().message()), "\n"));
  return kUsage;
}

}  // namespace pitwall
