// Rules for one job on one clock, with their windows, evaluation, alerts, and statuses. Takes rows
// in event order and evaluates them at ticks. Deterministic, single-threaded, independent of the
// system clock.
//
// Parts: DomainInputs (windows, subqueries, evaluator), TickScheduler (due ticks), RuleTable (state
// of the rules), RuleEvaluator, RecordedSeries (series that rules write), HistoryLoss,
// StatusReporter, and IssueEventBuilder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/domain/step_patience.h"
#include "services/engine/domain/step_times.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/engine/recording/recorded_series.h"
#include "services/engine/recording/rule_observer.h"
#include "services/engine/rules/history_loss.h"
#include "services/engine/rules/issue_event_builder.h"
#include "services/engine/rules/rule_evaluator.h"
#include "services/engine/rules/rule_table.h"
#include "services/engine/rules/status_reporter.h"
#include "services/engine/sources/source.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/engine/ticks/tick_scheduler.h"
#include "services/model/eval_time.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Identity of a domain within a job.
struct DomainId {
  size_t index = 0;               // Index in plan::Program::domains.
  uint32_t clock = kSharedClock;  // kSharedClock, or a clock for ranks behind it.

  bool is_shared() const { return clock == kSharedClock; }
};

// Evaluation rate of a step clock.
struct StepPace {
  StepTimes times;
  StepPatience patience;
};

class ClockDomain {
 public:
  // Borrows `counters`. `clock_id` is DomainId::clock. The domain of a separate step clock skips
  // cross-rank rules (rank_scope.h) and does not emit statuses.
  ClockDomain(plan::ProgramPtr program, size_t domain, const EngineOptions& options,
              EngineCounters* counters, uint32_t clock_id = kSharedClock);
  ClockDomain(const ClockDomain&) = delete;
  ClockDomain& operator=(const ClockDomain&) = delete;

  DomainId id() const { return {inputs_.domain_index(), clock_id_}; }
  const ClockSpec& clock() const { return inputs_.domain().demands.clock; }
  const std::shared_ptr<window::SeriesStore>& store() { return inputs_.store(); }
  StepPace& pace() { return pace_; }
  const StepPace& pace() const { return pace_; }
  TickScheduler& ticks() { return ticks_; }
  const TickScheduler& ticks() const { return ticks_; }
  RuleTable& rules() { return rules_; }
  RuleEvaluator& evaluator() { return evaluator_; }
  HistoryLoss& history_loss() { return history_loss_; }

  // Sets the separate domains whose issues count toward the statuses of this shared step clock.
  // Borrowed.
  void SetSeparate(const std::vector<const ClockDomain*>& separate);

  // Seals samples up to the tick and evaluates every due group in order.
  void Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // On the time clock, starts the attempt's windows at `time`. All other windows continue.
  void BeginAttempt(EventTime time);
  // Empties the windows for a new attempt or after the step number has decreased. All issues must
  // have ended before the call.
  void RestartWindows();
  // Returns whether all or part of the history is lost (time-model.md, section 6). A step domain of
  // a job without steps (such as a node job) has no history to lose.
  bool history_lost() const;
  // Drops series that are outside all windows. Expensive; call rarely.
  void Expire();
  // Installs another program for the same clock (docs/time-model.md, section 7). Unchanged rules
  // keep their state; issues from all other rules end.
  void Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at, const JobIdentity& job,
               EventSink* out);

  size_t MemoryBytes() const { return inputs_.MemoryBytes(); }
  // Saves all state except history_loss(), which older snapshots store elsewhere.
  void Save(BinaryWriter& out) const;
  // `format` is the snapshot's format (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  EngineCounters* const counters_;
  const uint32_t clock_id_;
  DomainInputs inputs_;
  TickScheduler ticks_;
  RecordedSeries recorded_;
  RuleTable rules_;
  HistoryLoss history_loss_;
  IssueEventBuilder events_;
  StatusReporter statuses_;
  RuleEvaluator evaluator_;
  StepPace pace_;
};

}  // namespace pitwall::engine
