// The rules that a processor elsewhere has in force, for those who show them.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/processor/rule_sets.h"

namespace pitwall {

// Thread-safe. Looks at the processor's commits at most every ten seconds.
class FollowedRules {
 public:
  // Borrowed.
  FollowedRules(Clock* clock, Log* log) : clock_(clock), log_(log), sets_(log) {}

  // Null: no processor has committed yet.
  engine::CompiledRulesPtr Get();

 private:
  // Of the first partition whose processor has rules; "": none has.
  std::string HashInForce();

  Clock* const clock_;
  Log* const log_;
  processor::RuleSets sets_;
  Mutex mutex_;
  engine::CompiledRulesPtr rules_ ABSL_GUARDED_BY(mutex_);
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic
};

}  // namespace pitwall
