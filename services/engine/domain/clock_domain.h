// The rules of one job on one clock: windows, compiled plan, alert machines, statuses. Fed with
// rows in event order, evaluated at ticks. Deterministic, single-threaded.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/alert/rule_status.h"
#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/engine/domain/step_patience.h"
#include "services/engine/domain/step_times.h"
#include "services/engine/domain/subqueries.h"
#include "services/engine/incidents/incidents.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/source.h"
#include "services/model/eval_time.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

using TickContext = EvalTime;

// What rules did at a tick, for tools that must see more than events say.
class RuleObserver {
 public:
  virtual ~RuleObserver() = default;
  // What follows belongs to this tick.
  virtual void TickBegins(const EvalTime& /*at*/) {}
  virtual void Failed(const plan::Rule& rule, const Status& error) = 0;
  // After an evaluation without an error: what the rule saw, and its alerts.
  virtual void Alerts(const alert::AlertInput& input, const alert::AlertState& state) = 0;
  // All alerts of the rule were ended, between ticks (EndAll).
  virtual void Ended(const alert::AlertRule& /*rule*/) {}
  // A sample that a rule wrote, stale markers too: of recording rules and of ALERTS, where some
  // selector wants them. Told even if the series has another sample there, which stays.
  virtual void Recorded(const Labels& labels, int64_t position, double value) = 0;
  // A sample of a recording rule that is written nowhere, since no selector wants it; no stale
  // markers.
  virtual void Unread(const Labels& /*labels*/, int64_t /*position*/, double /*value*/) {}
};

// The status of one rule now, countdowns in its reason too, which are no events.
struct RuleStatusNow {
  const plan::Rule* rule = nullptr;
  RuleStatus status = RuleStatus::kUnknown;  // kUnknown: no tick yet
  std::string_view reason;
};

class ClockDomain {
 public:
  // `clock_id`: other than kSharedClock for ranks that fell behind the shared step clock. Such a
  // runner skips rules across ranks (rank_scope.h) and emits no status.
  ClockDomain(plan::ProgramPtr program, size_t domain, const EngineOptions& options,
              EngineCounters* counters, uint32_t clock_id = kSharedClock);
  ~ClockDomain();

  const ClockSpec& clock() const { return domain().demands.clock; }
  const plan::DomainPlan& domain() const { return program_->domains[domain_]; }
  const std::shared_ptr<window::SeriesStore>& store() { return store_; }
  StepTimes& step_times() { return step_times_; }
  const StepTimes& step_times() const { return step_times_; }
  StepPatience& patience() { return patience_; }
  uint32_t clock_id() const { return clock_id_; }
  bool is_shared() const { return clock_id_ == kSharedClock; }
  // Shared step clock: the runners whose issues count in its statuses. Borrowed.
  void SetSeparate(std::vector<const ClockDomain*> separate) { separate_ = std::move(separate); }
  // Step clock: the ranks that it does not wait for ("rank 1"), which issues of rules across ranks
  // name; "" without any.
  void SetMissingRanks(std::string ranks) { missing_ranks_ = std::move(ranks); }
  // An alert of some rule is pending or firing.
  bool HasActiveAlerts() const;
  void SetParameters(std::vector<double> values);
  size_t domain_index() const { return domain_; }
  void SetObserver(RuleObserver* observer) { observer_ = observer; }
  // First tick: the first multiple of each group's interval at or after `origin` and after
  // `not_before`.
  void SetOrigin(int64_t origin, int64_t not_before = kMinPosition);
  // Step clock: the first position that can be judged, at the start and after RestartWindows.
  void StartAt(int64_t position);

  // The next position at which some group is due; kMaxPosition when there are no groups.
  int64_t NextTick() const;
  // After this long without any sample every verdict has settled: ticks in between can be left out.
  int64_t QuietHorizon() const { return quiet_horizon_; }
  // Leaves out all ticks before the last one of each group at or before `position`.
  void SkipTo(int64_t position);
  // Step clock: leaves out ticks up to `to` at which every verdict has settled, because no step
  // came for longer than any rule remembers. Before that, from 4,096 steps without a row on, it
  // evaluates ticks at growing distances, at most 1/64 of the steps without a row: an issue may end
  // that much later. A rank whose steps jump by millions must not cost millions of evaluations.
  void SkipQuiet(int64_t to);
  // Seals up to the tick and evaluates every group that is due then, in order.
  void Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // Ends all open issues (of scope attempt only, if so) and lets statuses forget which elements
  // they saw. The end of a job, or of an attempt by death, is no verdict: statuses stay as they
  // are, so that none looks healthy by it.
  void EndAll(EndReason reason, bool attempt_scope_only, const EvalTime& at, const JobIdentity& job,
              EventSink* out, EndDetail detail = EndDetail::kNone);
  // False: no rule here has the issue.
  bool SetRootCause(const IncidentTracker::RootCauseChange& change);
  // Reports each final status of an ended job that has not been reported.
  void FinishStatuses(const EvalTime& at, const JobIdentity& job, EventSink* out);
  // Step clock, judged on the time clock: `carried(metric)` says whether a live source sends it.
  void JudgeNeeds(const EvalTime& at, const std::function<bool(std::string_view)>& carried,
                  const JobIdentity& job, EventSink* out);
  // Of all alerting rules, in the order of the program. Valid until the next call that changes
  // something.
  std::vector<RuleStatusNow> Statuses() const;
  // Forgets series that no window can see any more; call it rarely.
  void Expire();
  // Time clock: windows of the attempt begin at `position`; all others go on.
  void BeginAttempt(int64_t position) {
    store_->BeginAttempt(position);
    attempt_lost_ = false;
  }
  // Windows start again (attempt, fall of the step). Issues must have been ended before.
  void RestartWindows();
  // What came before is not known (time-model.md, section 6): each rule is in Error until its
  // windows have been filled by what comes from the next tick on.
  void LoseHistory();
  // A job without steps (a node's) has none to lose.
  bool history_lost() const {
    return history_lost_ && (!clock().step || watermark != kMinPosition);
  }
  // Apart from Save: the layout of what was saved before has no place for it.
  void SaveHistoryLost(BinaryWriter& out) const;
  void RestoreHistoryLost(BinaryReader& in);
  // Another program for the same clock: what did not change keeps its state; issues of removed
  // rules end (clock_domain_replace.cc).
  void Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at, const JobIdentity& job,
               EventSink* out);
  // No program has this clock any more: every rule ends as removed.
  void Remove(const EvalTime& at, const JobIdentity& job, EventSink* out);

  // Step clock only: everything at or before it has been judged.
  int64_t watermark = kMinPosition;

  size_t MemoryBytes() const;
  void Save(BinaryWriter& out) const;
  // `format`: of the snapshot (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  struct RuleState;
  struct GroupState {
    int64_t next = kMaxPosition;
    std::vector<std::unique_ptr<RuleState>> rules;
    // Series that rules of the group recorded before the last reload and none records now: they get
    // stale markers when the group is evaluated next, as in Prometheus.
    std::vector<window::SeriesId> orphans;
  };

  // Ranks that are behind hold a part of what waits on the shared clock.
  window::Limits StoreLimits() const;
  static std::vector<GroupState> MakeStates(const plan::DomainPlan& domain);
  // Firing alerts of the rule of that name on the separate clocks.
  size_t FiringOnSeparate(std::string_view rule) const;
  const RuleState* FindRule(std::string_view name) const;
  void TakeStates(std::vector<GroupState> states);
  // The issues of a rule that is no longer in force end, and its status where no rule has its name.
  // The program is still the rule's own.
  void EndRule(RuleState* state, bool removed, const EvalTime& at, const JobIdentity& job,
               EventSink* out);
  // What a rule remembers goes to its equal of another program.
  void HandOver(RuleState* from, RuleState* heir);
  bool Record(window::SeriesId id, int64_t position, double value);
  void EvaluateRule(RuleState* state, const EvalTime& at, const JobIdentity& job, EventSink* out);
  Status EvaluateAlert(RuleState* state, const EvalTime& at, const JobIdentity& job,
                       EventSink* out);
  Status EvaluateRecord(RuleState* state, const EvalTime& at);
  void ReportStatus(RuleState* state, const Status& error, const EvalTime& at,
                    const JobIdentity& job, EventSink* out);
  void EmitStatus(const RuleState& state, const alert::StatusChange& change, const EvalTime& at,
                  const JobIdentity& job, EventSink* out);
  // False: the rule was not evaluated at the last tick, or windows have begun since.
  bool ReturnToLastTick(const RuleState& state);
  // `at_tick`: the evaluator is at this tick; else evidence is that of the last one.
  void EmitTransitions(RuleState* state, const EvalTime& at, bool at_tick, const JobIdentity& job,
                       EventSink* out);
  // The value of the left side of the rule's comparison now, for an element that expr does not
  // have. False: there is none, or several.
  bool ReadSubject(const plan::Rule& rule, const Labels& element, double* value);
  void FillEvidence(const plan::Rule& rule, const Labels& element, IssueEvent* event);
  void RecordActive(RuleState* state, int64_t position);
  // Writes `written` to the store at `position`, with stale markers for what stood there at the
  // last tick and is gone.
  void FlushRecorded(RuleState* state, int64_t position);
  // Which series each element of a new binding is recorded as.
  Status BindRecorded(RuleState* state, const eval::Vector& result);
  void EndOrphans(GroupState* group, int64_t position);
  // What the rules before a reload recorded goes to those that record it now (same group, name and
  // labels), or ends.
  void HandOverRecorded(std::vector<GroupState>* old, const plan::DomainPlan& old_space,
                        int64_t position);
  // Why a rule without an issue is InProgress: patience, windows that are not full yet. "": it is
  // not. In absolute times, but for samples.
  std::string WaitsFor(const RuleState& state, const EvalTime& at) const;
  // A position as a reason says it.
  std::string PositionText(int64_t position) const;
  void ComputeQuietHorizon();
  // How far below a tick the rule looks, recorded series included.
  int64_t ReachOf(const RuleState& state) const;
  // Why the rule cannot be judged since LoseHistory; "": it can.
  std::string HistoryLostReason(const RuleState& state, const EvalTime& at) const;
  bool StillLost(const RuleState& state, int64_t position) const;

  plan::ProgramPtr program_;
  size_t domain_;
  const EngineOptions options_;
  EngineCounters* const counters_;
  std::shared_ptr<window::SeriesStore> store_;  // shared only to be observed by plans of rows
  Subqueries subqueries_;
  std::unique_ptr<eval::Evaluator> evaluator_;
  std::vector<double> parameters_;
  std::vector<GroupState> groups_;
  StepTimes step_times_;
  StepPatience patience_;
  const uint32_t clock_id_;
  std::vector<const ClockDomain*> separate_;
  std::string missing_ranks_;
  void ScheduleAfter(int64_t position);

  int64_t origin_ = kMinPosition;
  bool scheduled_ = false;            // groups know their next ticks
  int64_t last_tick_ = kMinPosition;  // newest one evaluated
  int64_t quiet_horizon_ = 0;
  int64_t last_activity_ = kMinPosition;        // newest tick that sealed a row
  bool alerts_wanted_ = false;                  // some selector may read ALERTS or ALERTS_FOR_STATE
  std::vector<alert::Transition> transitions_;  // scratch
  RuleObserver* observer_ = nullptr;
  bool history_lost_ = false;            // some rule is in Error for it
  bool attempt_lost_ = false;            // the beginning of the attempt with it
  int64_t history_from_ = kMinPosition;  // first tick since it was lost; kMinPosition: none yet
};

}  // namespace pitwall::engine
