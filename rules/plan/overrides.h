// Parameters per job: which jobs run a rule with other numbers than the file's (architecture.md,
// section 5, Overrides).
//
//   jobs:
//   - match: {job: "llama-*"}                # glob over the job's id and name
//     rules:
//       bottleneck/system/CPUBottleneck: {gpu_threshold: 20}
//   - match: {team: vision, tier: "prod*"}   # globs over the job's labels; all must match
//     rules: {…}
//
// Blocks apply in the order of the file: of several that match, the last one wins, parameter by
// parameter.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/plan/job_match.h"
#include "rules/plan/program.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::plan {

inline constexpr size_t kMaxOverrideBlocks = 10'000;

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
  bool empty() const { return blocks_.empty(); }

 private:
  struct Value {
    std::string rule;
    std::string parameter;
    double value = 0;
  };
  struct Block {
    JobMatch match;
    std::vector<Value> values;
  };

  std::vector<Block> blocks_;
};

}  // namespace pitwall::plan
