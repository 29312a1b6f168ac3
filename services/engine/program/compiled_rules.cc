#include "services/engine/program/compiled_rules.h"

#include "rules/plan/program/overrides.h"
#include "rules/plan/program/parameter_owner.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"

namespace pitwall::engine {

StatusOr<CompiledRulesPtr> CompiledRules::Compile(RuleSet rules,
                                                  const plan::CompileOptions& options,
                                                  lang::Diagnostics* diagnostics) {
  ASSIGN_OR_RETURN(plan::ProgramPtr program, plan::CompileRuleSet(rules, diagnostics, options));
  PITWALL_LOG(kDebug, "rules", "compiled rule set ", program->hash);
  std::shared_ptr<CompiledRules> compiled(new CompiledRules(std::move(rules), std::move(program)));
  for (const lang::JobRegistry& bindings : compiled->program_->overrides->AllBindings()) {
    ASSIGN_OR_RETURN(compiled->variants_[bindings], compiled->Variant(bindings));
  }
  return CompiledRulesPtr(std::move(compiled));
}

StatusOr<plan::ProgramPtr> CompiledRules::Variant(const lang::JobRegistry& bindings) const {
  StatusOr<plan::ProgramPtr> variant = plan::CompileRuleSet(text_, nullptr, {.bindings = bindings});
  if (variant.ok()) {
    if (Status status = CheckProgram(**variant); !status.ok()) variant = status;
  }
  if (variant.ok()) return variant;
  const auto& [parameter, text] = *bindings.begin();
  return Annotate(variant.status(), Cat("with the override of ", parameter.first, ": ",
                                        parameter.second, " = ", Quote(text)));
}

plan::ProgramPtr CompiledRules::ProgramFor(const JobIdentity& job) const {
  const lang::JobRegistry bindings =
      program_->overrides == nullptr
          ? lang::JobRegistry()
          : program_->overrides->BindingsFor(job.id, job.name, Labels::FromPairs(job.labels));
  if (bindings.empty()) return program_;
  if (const auto found = variants_.find(bindings); found != variants_.end()) return found->second;
  const std::lock_guard lock(mutex_);
  std::erase_if(combined_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = combined_.find(bindings); found != combined_.end()) {
    if (plan::ProgramPtr live = found->second.lock()) return live;
  }
  StatusOr<plan::ProgramPtr> variant = Variant(bindings);
  // Each override compiles on its own, so the combination can fail only because of a limit.
  if (!variant.ok()) {
    PITWALL_LOG(kError, "rules", "job ", job.id,
                " ignores its text and window overrides, which cannot be compiled together: ",
                ToStd(variant.status().message()));
    return program_;
  }
  combined_[bindings] = *variant;
  return *variant;
}

StatusOr<CompiledRulesPtr> CompiledRules::Accept(RuleSet rules, const plan::CompileOptions& options,
                                                 lang::Diagnostics* diagnostics) {
  ASSIGN_OR_RETURN(CompiledRulesPtr compiled, Compile(std::move(rules), options, diagnostics));
  RETURN_IF_ERROR(CheckProgram(*compiled->program()));
  return compiled;
}

std::vector<double> CompiledRules::ParametersFor(size_t domain, const JobIdentity& job) const {
  return plan::ParametersFor(*program_, program_->domains[domain], job.id, job.name,
                             Labels::FromPairs(job.labels));
}

StatusOr<double> CompiledRules::ValueFor(std::string_view rule, std::string_view parameter,
                                         const JobIdentity& job) const {
  ASSIGN_OR_RETURN(const std::vector<const plan::Parameter*> meant,
                   plan::MatchingNumbers(*program_, rule, parameter));
  for (size_t domain = 0; domain < program_->domains.size(); ++domain) {
    const std::vector<plan::Parameter>& all = program_->domains[domain].parameters;
    for (size_t i = 0; i < all.size(); ++i) {
      if (&all[i] == meant.front()) return ParametersFor(domain, job)[i];
    }
  }
  return Internal(Cat("parameter ", Quote(parameter), " of rule ", Quote(rule), " has no domain"));
}

}  // namespace pitwall::engine
