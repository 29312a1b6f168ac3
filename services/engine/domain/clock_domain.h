// Rules of one job on one clock: their windows, evaluation, alerts, and statuses. Takes rows in
// event order and evaluates them at ticks. Deterministic, single-threaded, reads no clock.
//
// Parts: DomainInputs (windows, subqueries, evaluator), TickScheduler (due ticks), RuleTable (state
// of the rules), RuleEvaluator, RecordedSeries (series that rules write), HistoryLoss,
// StatusReporter, and IssueEventBuilder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/engine/domain/step_patience.h"
#include "services/engine/domain/step_times.h"
#include "services/engine/incidents/incidents.h"
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

using TickContext = EvalTime;

class ClockDomain {
 public:
  // Borrows `counters`. `clock_id`: other than kSharedClock for ranks that fell behind the shared
  // step clock. Such a domain skips rules across ranks (rank_scope.h) and emits no status.
  ClockDomain(plan::ProgramPtr program, size_t domain, const EngineOptions& options,
              EngineCounters* counters, uint32_t clock_id = kSharedClock);
  ClockDomain(const ClockDomain&) = delete;
  ClockDomain& operator=(const ClockDomain&) = delete;

  const ClockSpec& clock() const { return inputs_.domain().demands.clock; }
  size_t domain_index() const { return inputs_.domain_index(); }
  uint32_t clock_id() const { return clock_id_; }
  bool is_shared() const { return clock_id_ == kSharedClock; }
  const std::shared_ptr<window::SeriesStore>& store() { return inputs_.store(); }
  StepTimes& step_times() { return step_times_; }
  const StepTimes& step_times() const { return step_times_; }
  StepPatience& patience() { return patience_; }

  // Shared step clock: the separate domains whose issues count in its statuses. Borrowed.
  void SetSeparate(const std::vector<const ClockDomain*>& separate);
  // Step clock: the ranks that it does not wait for ("rank 1"), which issues of rules across ranks
  // name; "" without any.
  void SetMissingRanks(std::string ranks) { events_.SetMissingRanks(std::move(ranks)); }
  void SetParameters(std::vector<double> values) {
    inputs_.evaluator().SetParameters(std::move(values));
  }
  // Null for none. Borrowed.
  void SetObserver(RuleObserver* observer) { evaluator_.SetObserver(observer); }

  // Schedules the first multiple of each group's interval at or after `origin` and after
  // `not_before`.
  void SetOrigin(int64_t origin, int64_t not_before = kMinPosition) {
    ticks_.SetOrigin(origin, not_before);
  }
  // Step clock: the first position to evaluate, at the start and after RestartWindows.
  void StartAt(int64_t position) { ticks_.StartAt(position); }
  // The next position at which a group is due; kMaxPosition without groups.
  int64_t NextTick() const { return ticks_.NextTick(); }
  // After this time without a sample, every verdict has settled: ticks in between can be skipped.
  int64_t QuietHorizon() const { return ticks_.quiet_horizon(); }
  // Skips all ticks before the last one of each group at or before `position`.
  void SkipTo(int64_t position) { ticks_.SkipTo(position); }
  // Step clock: skips ticks before the next row, up to `to`, that cannot change a verdict
  // (TickScheduler::SkipQuiet). A rank whose steps jump by millions must not cost millions of
  // evaluations.
  void SkipQuiet(int64_t to) { ticks_.SkipQuiet(to); }

  // Seals up to the tick, and evaluates every group that is due then, in order.
  void Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // Ends all open issues (of scope attempt only, if so) and lets statuses forget which elements
  // they saw. The end of a job, or of an attempt by death, is no verdict: statuses stay as they
  // are, so that none looks healthy by it.
  void EndAll(EndReason reason, bool attempt_scope_only, const EvalTime& at, const JobIdentity& job,
              EventSink* out, EndDetail detail = EndDetail::kNone);
  // Step clock, judged on the time clock: `carried(metric)` returns whether a live source sends it.
  void JudgeNeeds(const EvalTime& at, const std::function<bool(std::string_view)>& carried,
                  const JobIdentity& job, EventSink* out);
  // Emits each final status of an ended job that has not been emitted.
  void FinishStatuses(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // Some alert is pending or firing.
  bool HasActiveAlerts() const { return rules_.HasActiveAlerts(); }
  // Returns false if no rule here has the issue.
  bool SetRootCause(const IncidentTracker::RootCauseChange& change) {
    return rules_.SetRootCause(change);
  }
  // Of all alerting rules, in the order of the program. Valid until the next call that changes a
  // rule.
  std::vector<RuleStatusNow> Statuses() const { return rules_.Statuses(); }

  // Forgets series that no window can see. Call it rarely.
  void Expire();
  // Time clock: windows of the attempt begin at `position`; all others continue.
  void BeginAttempt(int64_t position);
  // The windows restart empty: another attempt, or the step fell. Issues must have ended before.
  void RestartWindows();
  // The history so far is lost (time-model.md, section 6): each rule is in Error until its windows
  // are full again.
  void LoseHistory() { loss_.Lose(); }
  // A domain without steps (a node's) has none to lose.
  bool history_lost() const { return loss_.lost() && (!clock().step || watermark != kMinPosition); }
  // Apart from Save: the layout of older snapshots has no place for it.
  void SaveHistoryLost(BinaryWriter& out) const { loss_.Save(out); }
  void RestoreHistoryLost(BinaryReader& in) { loss_.Restore(in); }

  // Another program for the same clock (docs/time-model.md, section 7): rules that did not change
  // keep their state; issues of other rules end.
  void Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at, const JobIdentity& job,
               EventSink* out);
  // No program has this clock any more: every rule ends as removed.
  void Remove(const EvalTime& at, const JobIdentity& job, EventSink* out);

  // Step clock: all positions up to it have been evaluated.
  int64_t watermark = kMinPosition;

  size_t MemoryBytes() const { return inputs_.MemoryBytes(); }
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
  HistoryLoss loss_;
  IssueEventBuilder events_;
  StatusReporter statuses_;
  RuleEvaluator evaluator_;
  StepTimes step_times_;
  StepPatience patience_;
};

}  // namespace pitwall::engine
