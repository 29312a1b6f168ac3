// Commands `pitwall rules check|list|test|golden`.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "rules/plan/compile.h"
#include "rules/plan/cost/program_text.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/cli/commands.h"
#include "services/app/command/flags.h"
#include "services/app/config/rule_files.h"
#include "services/app/host/rule_definitions.h"
#include "services/app/text/rule_markdown.h"
#include "services/app/text/rules_check_json.h"
#include "services/app/text/rules_list.h"
#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"
#include "services/offline/promqltest/golden_run.h"
#include "services/offline/ruletest/rule_unit_tests.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

constexpr std::string_view kFilesHelp =
    "FILE is a rule file, or a shipped pack as pack:NAME. Without FILE the default pack is read.\n";

// Options shared by all commands that compile rules.
std::vector<FlagSpec> CompileOptions() {
  return {
      {"overrides", Kind::kOne, "FILE", "file with parameters of rules per job"},
      {"baseline", Kind::kMany, "PATH",
       "summaries of finished jobs (see `pitwall baseline`), or directories with summaries"},
      {"evaluation-interval", Kind::kOne, "DURATION",
       "evaluation interval of groups that do not set one", "1m"},
  };
}

StatusOr<plan::CostOptions> CostOptionsOf(const Flags& flags) {
  plan::CostOptions costs;
  if (const auto text = flags.One("series")) {
    const std::optional<int64_t> series = ParseInt(*text);
    if (!series || *series < 1)
      return InvalidArgument(Cat("--series: must be an integer above 0 (got ", Quote(*text), ")"));
    costs.series = *series;
  }
  if (const auto text = flags.One("sample-interval")) {
    ASSIGN_OR_RETURN(const int64_t interval_ns, ParseDuration(*text));
    costs.sample_interval = Duration::Nanos(interval_ns);
    if (interval_ns <= 0)
      return InvalidArgument(
          Cat("--sample-interval: must be a duration above 0 (got ", Quote(*text), ")"));
  }
  return costs;
}

// Prints one line per parameter, with the job's value according to the rule files. User-set values
// are not included. `rules status` and `jobs parameters` print those values.
void PrintParameters(const plan::Program& program, const std::string& job) {
  Print(Cat("parameters of job ", TerminalLine(job), "\n"));
  for (const auto& [rule, definition] : RuleDefinitionsOf(program, job, job)) {
    for (const history::RuleParameter& one : definition.parameters) {
      Print(Cat(
          "  ", rule, "  ", one.name, " = ", one.now, "  (",
          one.source == "rule" ? std::string("rule") : Cat("overrides file; default ", one.value),
          ")\n"));
    }
  }
}

struct Checked {
  std::vector<lang::Inclusion> inclusions;
  lang::Diagnostics diagnostics;
  size_t files = 0;
  engine::CompiledRulesPtr rules;  // null if there are errors among the diagnostics
  const plan::Program* program() const {
    return rules == nullptr ? nullptr : rules->program().get();
  }
  int64_t warnings() const {
    return std::count_if(
        diagnostics.list().begin(), diagnostics.list().end(),
        [](const lang::Diagnostic& d) { return d.severity == lang::Severity::kWarning; });
  }
};

// Compiles the rule files and prints the diagnostics. `limits` may be null.
StatusOr<Checked> CompileFiles(const Flags& flags, const plan::RuleLimits* limits) {
  Checked checked;
  ASSIGN_OR_RETURN(const int64_t interval, EvaluationInterval(flags));
  ASSIGN_OR_RETURN(RuleSet rules, ReadRuleSet({.files = flags.positional(),
                                               .overrides = flags.One("overrides").value_or(""),
                                               .baselines = flags.Many("baseline")},
                                              interval, &checked.inclusions));
  checked.files = rules.files.size();
  auto compiled =
      engine::CompiledRules::Compile(std::move(rules), {.limits = limits}, &checked.diagnostics);
  if (compiled.ok()) checked.rules = *std::move(compiled);
  if (!checked.diagnostics.list().empty()) PrintError(checked.diagnostics.ToString() + "\n");
  return checked;
}

// Returns true if the engine accepts the program, and otherwise prints the reason.
bool Runs(const plan::Program* program) {
  if (program == nullptr) return false;
  const Status runs = engine::CheckProgram(*program);
  if (!runs.ok()) PrintError(Cat(ToStd(runs.message()), "\n"));
  return runs.ok();
}

void PrintPlans(const Checked& checked, const plan::CostOptions& costs, const Flags& flags) {
  for (const lang::Inclusion& one : checked.inclusions) {
    Print(Cat(one.by, " includes of pack ", one.pack, ": ",
              one.alerts.empty() ? "all rules" : Join(one.alerts, ", "), "\n"));
  }
  Print(plan::Explain(*checked.program(), costs));
  if (const auto job = flags.One("job")) PrintParameters(*checked.program(), *job);
}

std::string Verdict(const Checked& checked, bool refused) {
  size_t count = 0;
  for (const plan::DomainPlan& domain : checked.program()->domains) {
    for (const plan::Group& group : domain.groups) count += group.rules.size();
  }
  std::string verdict = Cat(count, count == 1 ? " rule in " : " rules in ", checked.files,
                            checked.files == 1 ? " file: no errors" : " files: no errors");
  const int64_t warnings = checked.warnings();
  if (warnings > 0) {
    CatTo(verdict, ", ", warnings, warnings == 1 ? " warning" : " warnings",
          refused ? " (rejected by --strict)" : "");
  }
  return verdict + "\n";
}

StatusOr<int> Check(const Flags& flags) {
  ASSIGN_OR_RETURN(const plan::CostOptions costs, CostOptionsOf(flags));
  plan::RuleLimits limits;
  for (const std::string& limit : flags.Many("limit"))
    RETURN_IF_ERROR(plan::SetLimit(limit, &limits));
  ASSIGN_OR_RETURN(const Checked checked, CompileFiles(flags, &limits));
  const bool json = flags.Has("json");
  if (json) PrintJson(RulesReport(checked.diagnostics, checked.program(), costs) + "\n");
  if (!Runs(checked.program())) return kCheckFailed;
  if (flags.Has("explain") && !json) PrintPlans(checked, costs, flags);
  const bool refused = flags.Has("strict") && checked.warnings() > 0;
  if (!json) Print(Verdict(checked, refused));
  return refused ? kCheckFailed : kFine;
}

StatusOr<int> List(const Flags& flags) {
  ASSIGN_OR_RETURN(const Checked checked, CompileFiles(flags, nullptr));
  if (!Runs(checked.program())) return kCheckFailed;
  if (flags.Has("json")) {
    PrintJson(RulesAsJson(*checked.program()) + "\n");
  } else {
    Print(flags.Has("markdown") ? RulesAsMarkdown(*checked.program())
                                : RulesAsTable(*checked.program()));
  }
  return kFine;
}

int Finish(std::string_view command, const StatusOr<int>& code) {
  return code.ok() ? *code : ExitCodeOf(command, code.status(), kUsage);
}

Command CheckCommand() {
  return {
      .name = "rules check",
      .summary = "Check rule files for errors and warnings",
      .usage = {"[FILE…] [options]"},
      .details = kFilesHelp,
      .max_arguments = kAnyNumber,
      .options = JoinOptions(
          {{{"explain", Kind::kSwitch, "", "print the plan and the estimated cost of each rule"},
            {"series", Kind::kOne, "N", "assume that a selector matches N series", "1000"},
            {"sample-interval", Kind::kOne, "DURATION",
             "assume this interval between two samples of a series", "1s"},
            {"job", Kind::kOne, "JOB",
             "with --explain: print the parameters of this job ID or name, and their sources"},
            {"strict", Kind::kSwitch, "", "exit with code 1 if there are warnings"},
            {"limit", Kind::kMany, "NAME=VALUE",
             "set a limit of a rule, like rules.limits in the configuration"},
            {"json", Kind::kSwitch, "", "print findings and costs as one JSON object"}},
           CompileOptions()}),
      .examples = {"pitwall rules check pack:default",
                   "pitwall rules check --explain --series 10000 pack:training"},
      .run = [](const Flags& flags) { return Finish("rules check", Check(flags)); }};
}

Command ListCommand() {
  return {
      .name = "rules list",
      .summary = "List rules with their parameters and the series they need",
      .usage = {"[FILE…] [options]"},
      .details = kFilesHelp,
      .max_arguments = kAnyNumber,
      .options =
          JoinOptions({{{"json", Kind::kSwitch, "", "print one array with every field"},
                        {"markdown", Kind::kSwitch, "",
                         "print a Markdown page; docs/rules.md is the page for the shipped packs"}},
                       CompileOptions()}),
      .examples = {"pitwall rules list pack:default", "pitwall rules list --json pack:training"},
      .run = [](const Flags& flags) { return Finish("rules list", List(flags)); }};
}

}  // namespace

std::vector<Command> RulesCommands() {
  return {CheckCommand(), ListCommand(),
          Command{.name = "rules test",
                  .summary = "Run unit tests of rules in the format of promtool",
                  .usage = {"FILE… [options]"},
                  .min_arguments = 1,
                  .max_arguments = kAnyNumber,
                  .options = {{"expand", Kind::kSwitch, "",
                               "print the tests without fixtures, repetitions, and defaults, "
                               "and run none"}},
                  .examples = {"pitwall rules test rules/packs/default_test.yaml"},
                  .run =
                      [](const Flags& flags) {
                        return Finish("rules test",
                                      flags.Has("expand")
                                          ? offline::PrintExpandedTests(flags.positional())
                                          : offline::RunRuleTests(flags.positional(), ShippedPack));
                      }},
          Command{.name = "rules golden",
                  .summary = "Run PromQL scripts in the dialect of promqltest through the engine",
                  .usage = {"FILE… [options]"},
                  .details = "The last line reports \"N passed, N failed, N unsupported\".\n",
                  .min_arguments = 1,
                  .max_arguments = kAnyNumber,
                  .options = {{"verbose", Kind::kSwitch, "",
                               "print each unsupported eval with the reason"}},
                  .examples = {"pitwall rules golden tests/golden/math.test"},
                  .run = [](const Flags& flags) {
                    return Finish(
                        "rules golden",
                        offline::RunGolden(flags.positional(), {.verbose = flags.Has("verbose")}));
                  }}};
}

}  // namespace pitwall
