// Rules of one job on one clock: their windows, evaluation, alerts, and statuses. Takes rows in
// event order and evaluates them at ticks. Deterministic, single-threaded, reads no clock.
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

// Identity of a domain among those of one job.
struct DomainId {
  size_t index = 0;               // in plan::Program::domains
  uint32_t clock = kSharedClock;  // other for ranks that fell behind the shared step clock

  bool is_shared() const { return clock == kSharedClock; }
};

// Pace of a step clock.
struct StepPace {
  StepTimes times;
  StepPatience patience;
};

class ClockDomain {
 public:
  // Borrows `counters`. `clock_id` as in DomainId: a domain of a separate step clock skips rules
  // across ranks (rank_scope.h) and emits no status.
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

  // Shared step clock: the separate domains whose issues count in its statuses. Borrowed.
  void SetSeparate(const std::vector<const ClockDomain*>& separate);

  // Seals up to the tick, and evaluates every group that is due then, in order.
  void Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // Time clock: windows of the attempt begin at `position`; all others continue.
  void BeginAttempt(int64_t position);
  // The windows restart empty: another attempt, or the step fell. Issues must have ended before.
  void RestartWindows();
  // The history is lost, in part or as a whole (time-model.md, section 6). A domain without steps
  // (a node's) has none to lose.
  bool history_lost() const;
  // Forgets series that no window can see. Call it rarely.
  void Expire();
  // Another program for the same clock (docs/time-model.md, section 7): rules that did not change
  // keep their state; issues of other rules end.
  void Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at, const JobIdentity& job,
               EventSink* out);

  size_t MemoryBytes() const { return inputs_.MemoryBytes(); }
  // Without history_loss(), for which older snapshots have another place.
  void Save(BinaryWriter& out) const;
  // `format`: of the snapshot (shard.h).
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
