// The entry point of the rules compiler: texts -> immutable Program.
//
//   rule files --rules/lang--> AST --rules/check--> checked rules --rules/plan--> Program
//
// Pure: the same texts give the same Program, hash included, on every machine. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/rule_file.h"
#include "rules/plan/overrides.h"
#include "rules/plan/program.h"
#include "rules/plan/rule_limits.h"
#include "services/base/status.h"

namespace pitwall::plan {

inline constexpr int64_t kDefaultInterval = 60'000'000'000;        // 1m
inline constexpr int64_t kDefaultLookback = 5 * kDefaultInterval;  // 5m
inline constexpr int64_t kDefaultStepInterval = 1'000'000'000;     // 1 step (model/position.h)
inline constexpr int64_t kDefaultStepLookback = 1000 * kDefaultStepInterval;

// One file of the rule set. The name stands in messages; its stem is the pack, which must be unique
// in the set.
struct RuleSetFile {
  std::string name;
  std::string text;
};

struct RuleSetText {
  std::vector<RuleSetFile> files;
  RuleSetFile overrides;                    // text empty: none
  std::vector<RuleSetFile> baselines = {};  // summaries of finished jobs (baseline.h)
};

using RewriteRules = std::function<Status(const std::vector<std::shared_ptr<lang::RuleFile>>&)>;

struct CompileOptions {
  // For rule sets that are new. Null: none, as for sets that were accepted before: a replay must
  // not fail over a limit that was lowered since.
  const RuleLimits* limits = nullptr;
  // May change what was parsed before it is checked; its error ends it all.
  RewriteRules rewrite = {};
};

// Groups run in the order (pack, position in the file), whatever the order of `files`.
// `default_interval`: of groups on the time clock without an interval; nanoseconds, > 0.
// `diagnostics` (may be null) gets every error and warning, sorted. With any error the result is
// InvalidArgument and names the first ones; warnings alone do not stop.
StatusOr<ProgramPtr> CompileRuleSet(const RuleSetText& rule_set, int64_t default_interval,
                                    lang::Diagnostics* diagnostics,
                                    const CompileOptions& options = {});
// The same, without overrides.
StatusOr<ProgramPtr> CompileRules(std::span<const RuleSetFile> files,
                                  int64_t default_interval = kDefaultInterval,
                                  lang::Diagnostics* diagnostics = nullptr);

// What Program::hash will be: of the packs' names and texts, the overrides, the summaries and the
// default interval.
std::string RuleSetHash(const RuleSetText& rule_set, int64_t default_interval);

// The parameters of one job in one space: the rule file's values with the program's overrides on
// top.
std::vector<double> ParametersFor(const Program& program, const Space& space,
                                  std::string_view job_id, std::string_view job_name,
                                  const Labels& job_labels);

}  // namespace pitwall::plan
