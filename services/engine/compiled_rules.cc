#include "services/engine/compiled_rules.h"

#include "services/base/log.h"
#include "services/engine/program_check.h"

namespace pitwall::engine {

StatusOr<CompiledRulesPtr> CompiledRules::Compile(RuleSet rules,
                                                  const plan::CompileOptions& options,
                                                  lang::Diagnostics* diagnostics) {
  ASSIGN_OR_RETURN(plan::ProgramPtr program, plan::CompileRuleSet(rules, diagnostics, options));
  PITWALL_LOG(kDebug, "rules", "rule set ", program->hash, " is compiled");
  return CompiledRulesPtr(new CompiledRules(std::move(rules), std::move(program)));
}

StatusOr<CompiledRulesPtr> CompiledRules::Accept(RuleSet rules, const plan::CompileOptions& options,
                                                 lang::Diagnostics* diagnostics) {
  ASSIGN_OR_RETURN(CompiledRulesPtr compiled, Compile(std::move(rules), options, diagnostics));
  RETURN_IF_ERROR(CheckProgram(*compiled->program()));
  return compiled;
}

std::vector<double> CompiledRules::ParametersFor(size_t space, const JobIdentity& job) const {
  return plan::ParametersFor(*program_, program_->spaces[space], job.id, job.name,
                             Labels::FromPairs(job.labels));
}

}  // namespace pitwall::engine
