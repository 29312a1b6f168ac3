// Builder for the events of one domain's rules, based on alert transitions and status changes. The
// incident tracker adds incidents and root causes. Private to the engine.
#pragma once

#include <span>
#include <string>

#include "rules/alert/alert_state.h"
#include "rules/alert/status/rule_status.h"
#include "rules/plan/program/program.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/rules/rule_state.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/engine/ticks/tick_scheduler.h"
#include "services/model/eval_time.h"

namespace pitwall::engine {

// Context for the events of one evaluation, or of one call that ends issues. All pointers are
// borrowed.
struct EvalScope {
  const EvalTime& at;
  const JobIdentity& job;
  EventSink* out;
  EndDetail end_detail = EndDetail::kNone;  // Detail for issues that end.
};

// Not thread-safe.
class IssueEventBuilder {
 public:
  // The pointers are borrowed.
  IssueEventBuilder(DomainInputs* inputs, const TickScheduler* ticks, EngineCounters* counters)
      : inputs_(inputs), ticks_(ticks), counters_(counters) {}

  // Sets the ranks (such as "rank 1") that are missing when this step clock evaluates cross-rank
  // rules. "" means that no rank is missing.
  void SetMissingRanks(std::string ranks) { missing_ranks_ = std::move(ranks); }

  // Emits an event for each transition except kPending and kDropped. `at_tick` means that the
  // inputs are as of scope.at. If false, the evidence is as of the last tick.
  void EmitTransitions(const RuleState& state, std::span<const alert::Transition> transitions,
                       bool at_tick, const EvalScope& scope);
  void EmitStatus(const plan::Rule& rule, const alert::StatusChange& change,
                  const EvalScope& scope);

 private:
  IssueEvent EventOf(const RuleState& state, const alert::Transition& transition,
                     const EvalScope& scope) const;
  // Returns false if the rule was not evaluated at the last tick or if windows have restarted
  // since.
  bool ReturnToLastTick(const RuleSpec& spec);
  // For an element that is missing from expr, reads the left side of the rule's comparison. Returns
  // false unless exactly one element matches.
  bool ReadSubject(const plan::Rule& rule, const Labels& element, double* value);
  void AddEvidence(const plan::Rule& rule, const Labels& element, IssueEvent* event);
  void Emit(IssueEvent event, const EvalScope& scope);

  DomainInputs* const inputs_;
  const TickScheduler* const ticks_;
  EngineCounters* const counters_;
  std::string missing_ranks_;
};

}  // namespace pitwall::engine
