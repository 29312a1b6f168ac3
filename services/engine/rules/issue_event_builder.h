// Events of the rules of one domain: made from transitions of alerts and changes of statuses. The
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

// Circumstances of the events of one evaluation, or of one end of issues. Borrows all.
struct EvalScope {
  const EvalTime& at;
  const JobIdentity& job;
  EventSink* out;
  EndDetail end_detail = EndDetail::kNone;  // of the issues that end
};

// Not thread-safe.
class IssueEventBuilder {
 public:
  // Borrows all.
  IssueEventBuilder(DomainInputs* inputs, const TickScheduler* ticks, EngineCounters* counters)
      : inputs_(inputs), ticks_(ticks), counters_(counters) {}

  // Step clock: ranks without which rules across ranks are evaluated ("rank 1"); "" without any.
  void SetMissingRanks(std::string ranks) { missing_ranks_ = std::move(ranks); }

  // Emits an event for each transition but kPending and kDropped. `at_tick`: the inputs are as of
  // scope.at. Otherwise evidence is as of the last tick.
  void EmitTransitions(const RuleState& state, std::span<const alert::Transition> transitions,
                       bool at_tick, const EvalScope& scope);
  void EmitStatus(const plan::Rule& rule, const alert::StatusChange& change,
                  const EvalScope& scope);

 private:
  IssueEvent EventOf(const RuleState& state, const alert::Transition& transition,
                     const EvalScope& scope) const;
  // Returns false if the rule was not evaluated at the last tick, or windows have restarted since.
  bool ReturnToLastTick(const RuleSpec& spec);
  // Reads the left side of the rule's comparison for an element that expr lacks. Returns false if
  // there is none, or several.
  bool ReadSubject(const plan::Rule& rule, const Labels& element, double* value);
  void AddEvidence(const plan::Rule& rule, const Labels& element, IssueEvent* event);
  void Emit(IssueEvent event, const EvalScope& scope);

  DomainInputs* const inputs_;
  const TickScheduler* const ticks_;
  EngineCounters* const counters_;
  std::string missing_ranks_;
};

}  // namespace pitwall::engine
