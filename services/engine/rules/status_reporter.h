// Reporter for rule statuses in one domain. Derives statuses from evaluations and emits changes.
// Private to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/engine/rules/history_loss.h"
#include "services/engine/rules/issue_event_builder.h"
#include "services/engine/rules/rule_state.h"
#include "services/engine/rules/rule_table.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/engine/ticks/tick_scheduler.h"

namespace pitwall::engine {

// Not thread-safe.
class StatusReporter {
 public:
  // Parts of the domain.
  struct Sources {
    const DomainInputs* inputs;
    const TickScheduler* ticks;
    const RuleTable* rules;
    const HistoryLoss* loss;
  };

  // The pointers are borrowed. `emits` is false for a separate step clock. Its issues count toward
  // the statuses of the shared clock.
  StatusReporter(const Sources& sources, IssueEventBuilder* events, bool emits)
      : from_(sources), events_(events), emits_(emits) {}

  // Sets the rules of the separate step clocks. Their issues count toward the statuses here.
  // Borrowed.
  void SetSeparate(std::vector<const RuleTable*> separate) { separate_ = std::move(separate); }

  // Updates a rule's status after an evaluation and emits a change. `error` is the evaluation
  // error, if any.
  void Report(RuleState* state, const Status& error, const EvalScope& scope);
  // Emits the final statuses of an ended job's rules, unless they have been emitted.
  void Finish(const EvalScope& scope);
  // Emits the end of a removed rule's status if that status has been emitted.
  void Stop(RuleState* state, const EvalScope& scope);

 private:
  void Emit(const RuleState& state, const alert::StatusChange& change, const EvalScope& scope);
  // Returns the rule's error message, or "".
  std::string ErrorOf(const RuleState& state, const Status& error, const EvalScope& scope) const;
  // Returns the reason why a rule without an issue is InProgress: `for`, a minimum history, or
  // windows that are not full. Returns "" if there is no reason. Times are absolute; minimum
  // histories may be in samples.
  std::string WaitsFor(const RuleState& state, Position position) const;
  std::string PendingText(const RuleState& state) const;
  std::string HistoryText(const HistoryGate& gate) const;
  std::string WindowText(const RuleSpec& spec, Position position) const;
  std::string PositionText(Position position) const;

  const Sources from_;
  IssueEventBuilder* const events_;
  const bool emits_;
  std::vector<const RuleTable*> separate_;
};

}  // namespace pitwall::engine
