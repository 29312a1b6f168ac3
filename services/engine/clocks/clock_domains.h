// All clocks of one job: the rule set in force, the domain of its time clock, and those of its step
// clocks. Every domain is of the program that the job has in force.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/step_clocks.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// `at` on the clock of the domain: a step clock is at its newest step that was judged.
EvalTime OnClock(const ClockDomain& domain, EvalTime at);

// Not thread-safe. All loops take the time clock first, then the step clocks in their order.
class ClockDomains {
 public:
  // All are borrowed.
  ClockDomains(const EngineOptions& options, const JobIdentity* job, EngineCounters* counters);

  const CompiledRulesPtr& rules() const { return rules_; }
  // Null without rules.
  const plan::Program* program() const { return program_.get(); }
  // Takes effect with the next Begin or Replace. Null: no rules.
  void SetRules(CompiledRulesPtr rules) { rules_ = std::move(rules); }
  // The job's name or labels bring overrides that take another variant of the program.
  bool NeedsOtherProgram() const;
  // Makes all domains, without state.
  void Begin();
  // Takes the rules of SetRules into the running domains: state stays where the rules did not
  // change, and what no rule asks for any more ends. `origin`: that of a new time clock.
  void Replace(const EvalTime& at, int64_t origin, EventSink* out);
  // The job's own values of the parameters, after its name or labels changed.
  void SetParameters();
  void Clear();

  // Null without rules on the time clock.
  ClockDomain* time() const { return time_.get(); }
  StepClocks& steps() { return steps_; }
  template <typename F>
  void ForEach(F f) const {
    if (time_ != nullptr) f(*time_);
    for (const auto& domain : steps_) f(*domain);
  }
  // Adds a separate step clock of the mode. Null: there are max_separate_clocks_per_mode.
  ClockDomain* AddSeparate(const std::string& mode);

  // Domains that are made later have lost it too.
  void LoseHistory();
  bool history_lost() const;

  void Save(BinaryWriter& out) const;
  // After Begin with the rules that were in force. `format`: of the snapshot (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);
  // Apart: in a snapshot they come after what Save writes.
  void SaveHistoryLost(BinaryWriter& out) const;
  void RestoreHistoryLost(BinaryReader& in);

 private:
  void ReplaceSteps(const EvalTime& at, EventSink* out);
  // Gives each domain its link to EngineOptions::recordings.
  void Observe();

  const EngineOptions& options_;
  const JobIdentity* const job_;
  EngineCounters* const counters_;
  CompiledRulesPtr rules_;
  plan::ProgramPtr program_;  // the job's variant of rules_
  std::unique_ptr<ClockDomain> time_;
  StepClocks steps_;
  std::vector<std::unique_ptr<RuleObserver>> observers_;  // one for each domain
  bool history_lost_ = false;
};

// Statuses of all alerting rules of a job, in the order of the program. Valid until the next call
// that changes something.
std::vector<RuleStatusNow> StatusesOf(const ClockDomains& domains);

}  // namespace pitwall::engine
