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
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/parameters.h"
#include "rules/plan/job_match.h"
#include "rules/plan/program.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::plan {

inline constexpr size_t kMaxOverrideBlocks = 10'000;
// Blocks that set texts of matchers or lengths of windows: each is a program of its own.
inline constexpr size_t kMaxVariants = 64;

// Immutable; thread-safe.
class Overrides {
 public:
  // Checks names of rules and parameters against `program`; an unknown one is an error with the
  // nearest name. `text` empty: no overrides.
  static std::shared_ptr<const Overrides> Parse(std::string_view file_name, std::string_view text,
                                                const Program& program,
                                                lang::Diagnostics* diagnostics);

  // One value per Space::parameters: the file's, or what the blocks that match this job say.
  std::vector<double> ParametersFor(const Space& space, std::string_view job_id,
                                    std::string_view job_name, const Labels& job_labels) const;
  // The texts of matchers and lengths of windows that the job has of its own: its variant of the
  // program. Empty: the files'.
  lang::Bindings BindingsFor(std::string_view job_id, std::string_view job_name,
                             const Labels& job_labels) const;
  // Of each block that has some, alone.
  std::vector<lang::Bindings> AllBindings() const;
  bool empty() const { return blocks_.empty(); }

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

  static void Bind(const Block& block, lang::Bindings* bindings);

  std::vector<Block> blocks_;
  bool structural_ = false;  // some block has a structural value
};

}  // namespace pitwall::plan
