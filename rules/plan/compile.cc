#include "rules/plan/compile.h"

#include <algorithm>
#include <map>

#include "rules/check/rule_set.h"
#include "rules/lang/files/rule_file.h"
#include "rules/plan/baseline.h"
#include "rules/plan/cause_graph.h"
#include "rules/plan/planner/planner.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {

namespace {

std::vector<BaselinePtr> ParseBaselines(const std::vector<RuleSetFile>& files,
                                        lang::Diagnostics* diagnostics) {
  std::vector<BaselinePtr> baselines;
  std::map<std::string_view, std::string_view> file_of;  // maps each run to its file
  for (const RuleSetFile& file : files) {
    if (baselines.size() == kMaxBaselines) {
      diagnostics->Error(file.name,
                         Cat("more than ", kMaxBaselines, " summaries of finished jobs"));
      break;
    }
    baselines.push_back(ParseBaseline(file.name, file.text, diagnostics));
    const auto [other, fresh] = file_of.try_emplace(baselines.back()->run, file.name);
    if (!fresh) {
      diagnostics->Error(
          file.name, Cat("run ", Quote(other->first), " is a duplicate; it is in ", other->second));
    }
  }
  return baselines;
}

}  // namespace

StatusOr<ProgramPtr> CompileRuleSet(const RuleSet& rule_set, lang::Diagnostics* diagnostics,
                                    const CompileOptions& options) {
  if (rule_set.evaluation_interval <= Duration::Zero())
    return InvalidArgument("the default evaluation interval must be greater than 0");
  lang::Diagnostics own;
  std::vector<std::shared_ptr<lang::RuleFile>> files;
  for (const RuleSetFile& file : rule_set.files) {
    files.push_back(lang::ParseRuleFile(file.name, file.text, &own));
    if (!options.bindings.empty()) lang::BindParameters(options.bindings, files.back().get());
  }
  if (options.rewrite && !own.HasErrors()) RETURN_IF_ERROR(options.rewrite(files));
  check::CheckOptions checks;
  checks.default_interval = rule_set.evaluation_interval.ns();
  checks.default_lookback = kDefaultLookback;
  checks.default_step_interval = kDefaultStepInterval;
  checks.default_step_lookback = kDefaultStepLookback;
  const check::CheckedRuleSet checked =
      check::CheckRuleSet({files.begin(), files.end()}, checks, &own);
  auto program = std::make_shared<Program>();
  if (!own.HasErrors()) {
    *program = PlanRuleSet(checked);
    if (options.limits != nullptr) {
      CheckLimits(checked, *program, *options.limits, &own);
      CheckCauseGraph(checked, &own);
    }
    program->hash = RuleSetHash(rule_set);
    const RuleSetFile overrides = rule_set.overrides.value_or(RuleSetFile());
    program->overrides =
        Overrides::Parse(overrides.name, overrides.text, *program, &own, rule_set.job_parameters);
    program->baselines = ParseBaselines(rule_set.baselines, &own);
  }
  own.Sort();
  const Status status = own.ToStatus();
  if (diagnostics != nullptr) diagnostics->Append(std::move(own));
  if (!status.ok()) return status;
  return ProgramPtr(std::move(program));
}

StatusOr<ProgramPtr> CompileRules(std::span<const RuleSetFile> files, int64_t default_interval,
                                  lang::Diagnostics* diagnostics) {
  return CompileRuleSet({.files = {files.begin(), files.end()},
                         .evaluation_interval = Duration::Nanos(default_interval)},
                        diagnostics);
}

std::vector<double> ParametersFor(const Program& program, const DomainPlan& domain,
                                  std::string_view job_id, std::string_view job_name,
                                  const Labels& job_labels) {
  if (program.overrides != nullptr) {
    return program.overrides->ParametersFor(domain, job_id, job_name, job_labels);
  }
  std::vector<double> values;
  for (const Parameter& parameter : domain.parameters) values.push_back(parameter.value);
  return values;
}

}  // namespace pitwall::plan
