// Parameters per job: which jobs run a rule with other numbers than the file's (architecture.md,
// section 5, Overrides).
//
//   jobs:
//   - match: {job: "llama-*"}                # glob over the job's id and name
//     rules:
//       bottleneck/system/CPUBottleneck: {gpu_threshold: 20}
//       bottleneck/system/LowUse: {window: 200, gpus: "0|1"}   # [$window samples], {gpu=~$gpus}
//   - match: {team: vision, tier: "prod*"}   # globs over the job's labels; all must match
//     rules: {…}
//
// Blocks apply in the order of the file: of several that match, the last one wins, parameter by
// parameter. Of an alert they are also those of the recording rules that it reads
// (parameter_owner.h).
//
// A second layer lies over them: numbers that people set of one job while it runs (RuleSet::
// job_parameters). Those of a rule or parameter that the files no longer have do nothing, so that
// no reload fails over them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/files/parameters.h"
#include "rules/plan/program/job_match.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/rule_set.h"

namespace pitwall::plan {

inline constexpr size_t kMaxOverrideBlocks = 10'000;
// Blocks that set texts of matchers or lengths of windows: each is a program of its own.
inline constexpr size_t kMaxVariants = 64;

// Where the value of a parameter comes from.
enum class ParameterSource { kRule, kOverrides, kSet };
std::string_view ParameterSourceName(ParameterSource source);  // rule, overrides, set

// Immutable; thread-safe.
class Overrides {
 public:
  // Checks names of rules and parameters against `program`; an unknown one is an error with the
  // nearest name. `text` empty: no overrides. `set` is the second layer.
  static std::shared_ptr<const Overrides> Parse(std::string_view file_name, std::string_view text,
                                                const Program& program,
                                                lang::Diagnostics* diagnostics,
                                                std::span<const JobParameter> set = {});

  // One value per DomainPlan::parameters: the file's, or what the blocks that match this job say,
  // or what people set of it. `sources` (may be null) gets as many.
  std::vector<double> ParametersFor(const DomainPlan& domain, std::string_view job_id,
                                    std::string_view job_name, const Labels& job_labels,
                                    std::vector<ParameterSource>* sources = nullptr) const;
  // The texts of matchers and lengths of windows that the job has of its own: its variant of the
  // program. Empty: the files'.
  lang::JobRegistry BindingsFor(std::string_view job_id, std::string_view job_name,
                                const Labels& job_labels) const;
  // Of each block that has some, alone.
  std::vector<lang::JobRegistry> AllBindings() const;
  bool empty() const { return blocks_.empty() && set_.empty(); }

 private:
  struct Value {
    std::string rule;
    std::string parameter;
    double value = 0;
    std::string text;         // as written
    bool structural = false;  // not kNumber
  };
  struct Block {
    JobMatch match;
    std::vector<Value> values;
  };

  static void Bind(const Block& block, lang::JobRegistry* bindings);

  std::vector<Block> blocks_;
  std::map<std::string, std::vector<Value>, std::less<>> set_;  // by job id
  bool structural_ = false;                                     // some block has a structural value
};

}  // namespace pitwall::plan
