// Active rule set of a processor in another process, used by the history.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/processor/rule_sets.h"

namespace pitwall {

// Reads the processor's commits at most once every ten seconds. Thread-safe.
class FollowedRules {
 public:
  // Both pointers must outlive this object.
  FollowedRules(Clock* clock, Log* log) : clock_(clock), log_(log), sets_(log) {}

  // Returns the active rule set, or null if no processor has committed yet.
  engine::CompiledRulesPtr Get();

 private:
  // Returns the rule set hash of the first partition that has one, or "".
  std::string HashInForce();

  Clock* const clock_;
  Log* const log_;
  processor::RuleSets sets_;
  Mutex mutex_;
  engine::CompiledRulesPtr rules_ ABSL_GUARDED_BY(mutex_);
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic time
};

}  // namespace pitwall
