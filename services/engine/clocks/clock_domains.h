// All clocks of one job: the active rule set, the domain of the time clock, and the domains of the
// step clocks. All domains use the job's active program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/time.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/step_clocks.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// Converts `at` to the domain's clock. On a step clock, the result refers to the newest evaluated
// step.
EvalTime OnClock(const ClockDomain& domain, EvalTime at);

// Not thread-safe. All loops visit the time clock first, then the step clocks in order.
class ClockDomains {
 public:
  // The pointers are borrowed.
  ClockDomains(const EngineOptions& options, const JobIdentity* job, EngineCounters* counters);

  const CompiledRulesPtr& rules() const { return rules_; }
  // Null if there are no rules.
  const plan::Program* program() const { return program_.get(); }
  // Takes effect with the next Begin or Replace. Null means no rules.
  void SetRules(CompiledRulesPtr rules) { rules_ = std::move(rules); }
  // Returns whether the overrides for the job's name or labels require a different variant of the
  // program.
  bool NeedsOtherProgram() const;
  // Creates all domains, without state.
  void Begin();
  // Applies the rules from SetRules to the running domains. Unchanged rules keep their state; state
  // that no rule uses is dropped. `origin` is the origin of a new time clock.
  void Replace(const EvalTime& at, EventTime origin, EventSink* out);
  // Applies the job's parameter values after a change to its name or labels.
  void SetParameters();
  void Clear();

  // Null if there are no rules on the time clock.
  ClockDomain* time() const { return time_.get(); }
  StepClocks& steps() { return steps_; }
  template <typename F>
  void ForEach(F f) const {
    if (time_ != nullptr) f(*time_);
    for (const auto& domain : steps_) f(*domain);
  }
  // Adds a separate step clock for the mode. Returns null if max_separate_clocks_per_mode is
  // reached.
  ClockDomain* AddSeparate(const std::string& mode);

  // Marks the history as lost, including in domains created later.
  void LoseHistory();
  bool history_lost() const;

  void Save(BinaryWriter& out) const;
  // Restores a snapshot's state. Must be called after Begin with the rules that were active at the
  // time of the snapshot. `format` is the snapshot's format (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);
  // Saves the history loss. Separate from Save because a snapshot stores other data in between.
  void SaveHistoryLost(BinaryWriter& out) const;
  void RestoreHistoryLost(BinaryReader& in);

 private:
  void ReplaceSteps(const EvalTime& at, EventSink* out);
  // Connects each domain to EngineOptions::recordings.
  void Observe();

  const EngineOptions& options_;
  const JobIdentity* const job_;
  EngineCounters* const counters_;
  CompiledRulesPtr rules_;
  plan::ProgramPtr program_;  // The job's variant of rules_.
  std::unique_ptr<ClockDomain> time_;
  StepClocks steps_;
  std::vector<std::unique_ptr<RuleObserver>> observers_;  // One for each domain.
  bool history_lost_ = false;
};

// Returns the statuses of all of the job's alerting rules, in program order. Valid until the next
// call that changes the domains.
std::vector<RuleStatusNow> StatusesOf(const ClockDomains& domains);

}  // namespace pitwall::engine
