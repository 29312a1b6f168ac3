// Statuses of the rules of one domain: derives them from evaluations, and emits their changes.
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

  // Borrows all. `emits`: false for a separate step clock, whose issues count in the statuses of
  // the shared one.
  StatusReporter(const Sources& sources, IssueEventBuilder* events, bool emits)
      : from_(sources), events_(events), emits_(emits) {}

  // Rules of the separate step clocks, whose issues count here. Borrowed.
  void SetSeparate(std::vector<const RuleTable*> separate) { separate_ = std::move(separate); }

  // Updates the status of a rule after an evaluation, and emits a change. `error` is that of the
  // evaluation.
  void Report(RuleState* state, const Status& error, const EvalScope& scope);
  // Emits the final status of each rule of an ended job that has not been emitted.
  void Finish(const EvalScope& scope);
  // Emits the end of the status of a removed rule, if one has been emitted.
  void Stop(RuleState* state, const EvalScope& scope);

 private:
  void Emit(const RuleState& state, const alert::StatusChange& change, const EvalScope& scope);
  // Message of the error of the rule; "" without one.
  std::string ErrorOf(const RuleState& state, const Status& error, const EvalScope& scope) const;
  // Reasons why a rule without an issue is InProgress: `for`, a minimum history, windows that are
  // not full. "" without any. Times are absolute, except in samples.
  std::string WaitsFor(const RuleState& state, int64_t position) const;
  std::string PendingText(const RuleState& state) const;
  std::string HistoryText(const HistoryGate& gate) const;
  std::string WindowText(const RuleSpec& spec, int64_t position) const;
  std::string PositionText(int64_t position) const;

  const Sources from_;
  IssueEventBuilder* const events_;
  const bool emits_;
  std::vector<const RuleTable*> separate_;
};

}  // namespace pitwall::engine
