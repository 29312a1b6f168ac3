// Entry point of the rules compiler, which turns rule texts into an immutable Program.
//
//   rule files --rules/lang--> AST --rules/check--> checked rules --rules/plan--> Program
//
// Compilation is pure: the same texts yield the same Program, including its hash, on every machine.
// All functions are thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/files/parameters.h"
#include "rules/lang/files/rule_file.h"
#include "rules/plan/cost/rule_limits.h"
#include "rules/plan/program/overrides.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::plan {

inline constexpr int64_t kDefaultInterval = 60'000'000'000;        // 1m
inline constexpr int64_t kDefaultLookback = 5 * kDefaultInterval;  // 5m
inline constexpr int64_t kDefaultStepInterval = 1'000'000'000;     // 1 step (model/position.h)
inline constexpr int64_t kDefaultStepLookback = 1000 * kDefaultStepInterval;

using RewriteRules = std::function<Status(const std::vector<std::shared_ptr<lang::RuleFile>>&)>;

struct CompileOptions {
  // Limits for new rule sets, which must also have a valid graph of causes (cause_graph.h). Null
  // for sets that were accepted earlier, because a replay must not fail after a limit is lowered.
  const RuleLimits* limits = nullptr;
  // Hook that may change the parsed rules before they are checked. An error stops the compilation.
  RewriteRules rewrite = {};
  // Matcher texts and window lengths that differ from the files and define a variant for some jobs.
  lang::JobRegistry bindings = {};
};

// Compiles a rule set. Groups run in the order (pack, position in the file), regardless of the file
// order. Program::hash is the RuleSetHash of the set. `diagnostics` (may be null) receives all
// errors and warnings, sorted. If there are errors, returns InvalidArgument with the first ones.
// Warnings do not stop the compilation.
StatusOr<ProgramPtr> CompileRuleSet(const RuleSet& rule_set,
                                    lang::Diagnostics* diagnostics = nullptr,
                                    const CompileOptions& options = {});
// Compiles rule files only.
StatusOr<ProgramPtr> CompileRules(std::span<const RuleSetFile> files,
                                  int64_t default_interval = kDefaultInterval,
                                  lang::Diagnostics* diagnostics = nullptr);

// Returns the job's parameters in one domain: the values in the rule file, overlaid with the
// program's overrides.
std::vector<double> ParametersFor(const Program& program, const DomainPlan& domain,
                                  std::string_view job_id, std::string_view job_name,
                                  const Labels& job_labels);

}  // namespace pitwall::plan
