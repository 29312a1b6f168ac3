// Parameter overrides per job, for jobs that need parameter values other than those in the rule
// file (architecture.md, section 5, Overrides).
//
//   jobs:
//   - match: {job: "llama-*"}                # glob over the job's ID and name
//     rules:
//       bottleneck/system/CPUBottleneck: {gpu_threshold: 20}
//       bottleneck/system/LowUse: {window: 200, gpus: "0|1"}   # [$window samples], {gpu=~$gpus}
//   - match: {team: vision, tier: "prod*"}   # globs over the job's labels; all must match
//     rules: {…}
//
// Blocks apply in file order. If several blocks match, the last block that sets a parameter wins.
// Overrides of an alert also apply to the recording rules that it reads (parameter_owner.h).
//
// A second layer takes precedence: numbers that users set for one job while it runs
// (RuleSet::job_parameters). Values for removed rules or parameters are ignored, so that they do
// not make a reload fail.
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
// Maximum number of blocks that set matcher texts or window lengths. Each of them compiles to its
// own program.
inline constexpr size_t kMaxVariants = 64;

// Origin of a parameter's value.
enum class ParameterSource { kRule, kOverrides, kSet };
std::string_view ParameterSourceName(ParameterSource source);  // rule, overrides, set

// Parsed overrides of one rule set. Immutable and thread-safe.
class Overrides {
 public:
  // Parses overrides and checks rule and parameter names against `program`. An unknown name is an
  // error that suggests the nearest name. If `text` is empty, there are no overrides. `set`
  // contains the numbers that users set for jobs.
  static std::shared_ptr<const Overrides> Parse(std::string_view file_name, std::string_view text,
                                                const Program& program,
                                                lang::Diagnostics* diagnostics,
                                                std::span<const JobParameter> set = {});

  // Returns one value for each entry of DomainPlan::parameters: from the rule file, from the blocks
  // that match the job, or set by users. `sources` (may be null) receives one entry per value.
  std::vector<double> ParametersFor(const DomainPlan& domain, std::string_view job_id,
                                    std::string_view job_name, const Labels& job_labels,
                                    std::vector<ParameterSource>* sources = nullptr) const;
  // Returns the job's own matcher texts and window lengths. They select its variant of the program.
  // Empty if the job uses the values in the files.
  lang::JobRegistry BindingsFor(std::string_view job_id, std::string_view job_name,
                                const Labels& job_labels) const;
  // Returns the variants of all blocks that define one.
  std::vector<lang::JobRegistry> AllBindings() const;
  bool empty() const { return blocks_.empty() && set_.empty(); }

 private:
  struct Value {
    std::string rule;
    std::string parameter;
    double value = 0;
    std::string text;         // as written in the file
    bool structural = false;  // a matcher text or window length rather than a number
  };
  struct Block {
    JobMatch match;
    std::vector<Value> values;
  };

  static void Bind(const Block& block, lang::JobRegistry* bindings);

  std::vector<Block> blocks_;
  std::map<std::string, std::vector<Value>, std::less<>> set_;  // by job ID
  bool structural_ = false;  // true if some block has a structural value
};

}  // namespace pitwall::plan
