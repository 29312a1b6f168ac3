#include "services/engine/domain/clock_domain.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/rank_scope.h"
#include "services/engine/domain/rule_state.h"
#include "services/engine/domain/tick_queries.h"
#include "services/engine/program/program_check.h"

namespace pitwall::engine {

namespace {

window::Limits LimitsOf(const EngineOptions& options) {
  return {.max_series = options.max_series_per_job,
          .max_open_samples = options.open_cells_per_clock()};
}

// Ticks after the newest row that are all evaluated: more than the panes of a window that keeps its
// samples. Beyond, ticks are left out: the distance of two is this part of the time without a row,
// so that a window of 60,000 steps costs hundreds of evaluations instead of 120,000.
constexpr int64_t kDenseQuiet = 4096 * kStepUnit;
constexpr int64_t kQuietParts = 64;

bool MayMatchName(const Selector& selector, std::string_view name) {
  for (const Matcher& matcher : selector.matchers) {
    if (matcher.label() == kMetricName && !matcher.Matches(name)) return false;
  }
  return true;
}

}  // namespace

ClockDomain::RuleState::RuleState(const plan::DomainPlan& domain, const plan::Group& group,
                                  const plan::Rule& compiled, bool across_ranks)
    : rule(&compiled),
      interval(group.interval),
      align_job(group.align_job),
      limit(group.limit),
      across_ranks(across_ranks),
      broken(CheckWindows(domain, compiled)),
      status(NeedNames(compiled)),
      needs_met(compiled.needs.size(), 0),
      history(domain, compiled),
      demands(DemandsBelow(domain, compiled.expr)) {
  for (const plan::DemandRef& demand : DemandsBelow(domain, compiled.clear))
    demands.push_back(demand);
  for (const plan::NodeId root : plan::RootsOf(compiled)) {
    for (const uint32_t subquery : SubqueriesBelow(domain, root)) subqueries.push_back(subquery);
  }
  if (compiled.kind != plan::RuleKind::kAlert || !broken.ok()) return;
  auto made = alert::AlertRule::Make(domain, compiled, group.limit);
  if (made.ok()) {
    alerts.emplace(*std::move(made), alert::AlertOptions{.report_pending = false});
  } else {
    broken = made.status();
  }
}

ClockDomain::ClockDomain(plan::ProgramPtr program, size_t domain, const EngineOptions& options,
                         EngineCounters* counters, uint32_t clock_id)
    : program_(std::move(program)),
      domain_(domain),
      options_(options),
      counters_(counters),
      subqueries_(program_, domain, LimitsOf(options)),
      step_times_(options.max_step_times),
      clock_id_(clock_id) {
  // The program owns the demands: the store keeps the program alive through them.
  store_ = std::make_shared<window::SeriesStore>(
      std::shared_ptr<const DemandSet>(program_, &program_->domains[domain_].demands),
      StoreLimits());
  evaluator_ = std::make_unique<eval::Evaluator>(program_, domain_);
  parameters_ = evaluator_->parameters();
  TakeStates(MakeStates(this->domain()));
}

ClockDomain::~ClockDomain() = default;

window::Limits ClockDomain::StoreLimits() const {
  window::Limits limits = LimitsOf(options_);
  if (!is_shared()) limits.max_open_samples /= options_.max_separate_clocks_per_mode;
  return limits;
}

std::vector<ClockDomain::GroupState> ClockDomain::MakeStates(const plan::DomainPlan& domain) {
  std::vector<GroupState> states;
  std::vector<std::vector<bool>> across(domain.groups.size());
  if (domain.demands.clock.step) across = RulesAcrossRanks(domain);
  for (size_t g = 0; g < domain.groups.size(); ++g) {
    const plan::Group& group = domain.groups[g];
    across[g].resize(group.rules.size(), false);
    GroupState state;
    for (size_t r = 0; r < group.rules.size(); ++r) {
      state.rules.push_back(
          std::make_unique<RuleState>(domain, group, group.rules[r], across[g][r]));
    }
    states.push_back(std::move(state));
  }
  return states;
}

void ClockDomain::TakeStates(std::vector<GroupState> states) {
  groups_ = std::move(states);
  alerts_wanted_ = false;
  for (const Selector& selector : this->domain().demands.selectors) {
    alerts_wanted_ = alerts_wanted_ || MayMatchName(selector, "ALERTS") ||
                     MayMatchName(selector, "ALERTS_FOR_STATE");
  }
  ComputeQuietHorizon();
}

void ClockDomain::ComputeQuietHorizon() {
  int64_t window = 0;
  for (const Demand& demand : domain().demands.demands) {
    window = std::max({window, demand.range + demand.offset, demand.lookback});
  }
  for (const plan::Subquery& subquery : domain().subqueries) window += subquery.reach;
  int64_t patience = 0;
  int64_t interval = 0;
  for (const plan::Group& group : domain().groups) {
    interval = std::max(interval, group.interval);
    for (const plan::Rule& rule : group.rules)
      patience = std::max(patience, rule.hold + rule.keep_firing + rule.unsteady_ns);
  }
  // Twice: a window may read a recorded series that reads a window; ten minutes more cost nothing.
  quiet_horizon_ = 2 * (window + patience + interval) + 600 * kNanosPerSecond;
}

void ClockDomain::SetParameters(std::vector<double> values) {
  evaluator_->SetParameters(std::move(values));
  parameters_ = evaluator_->parameters();
}

void ClockDomain::SetOrigin(int64_t origin, int64_t not_before) {
  origin_ = origin;
  last_tick_ = std::max(last_tick_, not_before);
  store_->SetOrigin(origin);
  subqueries_.SetOrigin(origin);
  subqueries_.Start(std::max(origin - 1, last_tick_), last_tick_);
  ScheduleAfter(std::max(origin - 1, last_tick_));
}

void ClockDomain::StartAt(int64_t position) {
  if (scheduled_) return;
  if (origin_ == kMinPosition) {
    SetOrigin(position);
  } else {
    subqueries_.Start(std::max(last_tick_, position - 1), last_tick_);
    last_tick_ = std::max(last_tick_, position - 1);
    ScheduleAfter(last_tick_);
  }
}

void ClockDomain::ScheduleAfter(int64_t position) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const plan::Group& group = domain().groups[g];
    groups_[g].next = NextAfter(position, group.interval, group.align_job ? origin_ : 0);
  }
  scheduled_ = true;
}

int64_t ClockDomain::NextTick() const {
  int64_t next = subqueries_.NextTick();
  for (const GroupState& group : groups_) next = std::min(next, group.next);
  return next;
}

void ClockDomain::SkipTo(int64_t position) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const plan::Group& group = domain().groups[g];
    groups_[g].next =
        std::max(groups_[g].next, FloorTo(position, group.interval, group.align_job ? origin_ : 0));
  }
  subqueries_.SkipTo(position);
}

void ClockDomain::SkipQuiet(int64_t to) {
  const int64_t open = store_->OldestOpen().value_or(kMaxPosition);
  const int64_t until = std::min(to, open - 1);
  const int64_t next = NextTick();
  if (last_activity_ == kMinPosition) last_activity_ = next;
  const int64_t quiet = next - last_activity_;
  if (quiet > quiet_horizon_ && until - next > quiet_horizon_) {
    SkipTo(until);
  } else if (quiet > kDenseQuiet) {
    SkipTo(std::min(until, next + quiet / kQuietParts));
  }
}

void ClockDomain::Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out) {
  if (store_->OldestOpen().value_or(kMaxPosition) <= at.position) last_activity_ = at.position;
  if (observer_ != nullptr) observer_->TickBegins(at);
  store_->SealTo(at.position);
  store_->BeginTick(at.position);
  evaluator_->Begin(at.position, store_.get(), subqueries_.views());
  subqueries_.Begin(at.position);
  last_tick_ = at.position;
  if (history_lost_ && history_from_ == kMinPosition) history_from_ = at.position;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].next != at.position) continue;
    groups_[g].next += domain().groups[g].interval;
    for (const auto& state : groups_[g].rules) {
      if (is_shared() || !state->across_ranks) EvaluateRule(state.get(), at, job, out);
    }
    EndOrphans(&groups_[g], at.position);
  }
  subqueries_.Finish(evaluator_.get());
  if (history_lost_) {
    bool lost = false;
    for (const GroupState& group : groups_) {
      for (const auto& state : group.rules) lost = lost || StillLost(*state, at.position);
    }
    history_lost_ = lost;
  }
}

void ClockDomain::EvaluateRule(RuleState* state, const EvalTime& at, const JobIdentity& job,
                               EventSink* out) {
  ++counters_->evaluations;
  const plan::Rule& rule = *state->rule;
  for (size_t i = 0; i < rule.needs.size(); ++i) {
    const Column column = store_->Read(rule.needs[i].demand);
    const bool met =
        std::find(column.present.begin(), column.present.end(), 1) != column.present.end();
    // On the step clock absence is judged on the time clock; presence shows here at once.
    if (met || !clock().step || !state->needs_judged) state->needs_met[i] = met ? 1 : 0;
  }
  Status error = state->broken;
  // Needs that only follow from the expression say what the status is. Without them there is no
  // result either, except where a window still holds what an instant no longer sees: as in
  // Prometheus, it counts.
  const bool needed = state->status.Gate(state->needs_met);
  if (error.ok() && (needed || !rule.waits_for_needs)) {
    subqueries_.Run(state->subqueries, evaluator_.get());
    error = rule.kind == plan::RuleKind::kAlert ? EvaluateAlert(state, at, job, out)
                                                : EvaluateRecord(state, at);
    // What could be judged was; what a window has no room for must not look healthy.
    for (const plan::DemandRef& ref : state->demands) {
      if (!error.ok()) break;
      error =
          ref.source == 0 ? store_->DemandStatus(ref.demand) : subqueries_.Check(ref, at.position);
    }
  } else if (error.ok() && !state->last_written.empty()) {
    // It took these over at a reload, and is itself not to be evaluated yet.
    state->written.clear();
    FlushRecorded(state, at.position);
  }
  if (!error.ok()) {
    ++counters_->rule_errors;
    if (observer_ != nullptr) observer_->Failed(rule, error);
  }
  ReportStatus(state, error, at, job, out);
}

Status ClockDomain::EvaluateAlert(RuleState* state, const EvalTime& at, const JobIdentity& job,
                                  EventSink* out) {
  const plan::Rule& rule = *state->rule;
  TickQueries queries(evaluator_.get());
  alert::AlertInput input{.at = at, .parameters = parameters_, .queries = &queries};
  // Results stay valid until the next Begin or Changed, and neither comes in between.
  ASSIGN_OR_RETURN(input.expr, evaluator_->Evaluate(rule.expr));
  if (rule.subject != plan::kNoNode) {
    ASSIGN_OR_RETURN(input.subject, evaluator_->Evaluate(rule.subject));
  }
  if (rule.clear != plan::kNoNode) {
    ASSIGN_OR_RETURN(input.clear, evaluator_->Evaluate(rule.clear));
  }
  if (input.subject != nullptr && input.subject->type == plan::ValueType::kVector)
    state->inputs.Update(*input.subject);
  transitions_.clear();
  RETURN_IF_ERROR(state->alerts->Step(input, &transitions_));
  state->history_wait = state->alerts->firing() > 0
                            ? HistoryGate()
                            : state->history.At(evaluator_.get(), at.position);
  if (observer_ != nullptr) observer_->Alerts(input, *state->alerts);
  EmitTransitions(state, at, /*at_tick=*/true, job, out);
  if (alerts_wanted_) RecordActive(state, at.position);
  return OkStatus();
}

void ClockDomain::EndAll(EndReason reason, bool attempt_scope_only, const EvalTime& at,
                         const JobIdentity& job, EventSink* out, EndDetail detail) {
  // An end is no verdict: only where the job goes on does the status follow at once.
  const bool judges = reason != EndReason::kJobEnded && detail == EndDetail::kNone;
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      if (reason == EndReason::kAttemptEnded) {
        state->inputs.AttemptEnded();
        if (state->history.begins_with_attempt())
          state->history_wait = {.what = HistoryGate::For::kTick};
      }
      const bool attempt_scope = clock().step || state->rule->scope == plan::AlertScope::kAttempt;
      if (!state->alerts.has_value() || (attempt_scope_only && !attempt_scope)) continue;
      transitions_.clear();
      state->alerts->EndAll(reason, at, &transitions_);
      if (observer_ != nullptr) observer_->Ended(state->alerts->rule());
      const size_t first = out->events.size();
      EmitTransitions(state.get(), at, /*at_tick=*/false, job, out);
      for (size_t i = first; i < out->events.size(); ++i) out->events[i].end_detail = detail;
      if (judges && !transitions_.empty()) ReportStatus(state.get(), OkStatus(), at, job, out);
    }
  }
}

void ClockDomain::FinishStatuses(const EvalTime& at, const JobIdentity& job, EventSink* out) {
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      if (state->rule->kind != plan::RuleKind::kAlert) continue;
      if (auto change = state->status.Finish()) EmitStatus(*state, *change, at, job, out);
    }
  }
}

void ClockDomain::JudgeNeeds(const EvalTime& at,
                             const std::function<bool(std::string_view)>& carried,
                             const JobIdentity& job, EventSink* out) {
  // No source sends what rules record. It is there while its rule has what it needs itself and
  // recorded something at its last tick.
  absl::flat_hash_set<std::string_view> recorded;
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      const plan::Rule& rule = *state->rule;
      bool all_met = true;
      for (size_t i = 0; i < rule.needs.size(); ++i) {
        const std::string_view metric = rule.needs[i].metric;
        state->needs_met[i] = carried(metric) || recorded.contains(metric) ? 1 : 0;
        all_met &= state->needs_met[i] == 1;
      }
      state->needs_judged = true;
      if (rule.kind == plan::RuleKind::kRecord && all_met && !state->last_written.empty())
        recorded.insert(rule.alert);
      if (rule.kind != plan::RuleKind::kAlert || !state->broken.ok()) continue;
      // What failed at its last tick still fails.
      const Status error = state->status.status() == RuleStatus::kError
                               ? Internal(state->status.reason())
                               : OkStatus();
      ReportStatus(state.get(), error, at, job, out);
    }
  }
}

bool ClockDomain::HasActiveAlerts() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const GroupState& group) {
    return std::any_of(group.rules.begin(), group.rules.end(), [](const auto& state) {
      return state->alerts.has_value() &&
             (state->alerts->firing() > 0 || state->alerts->pending() > 0);
    });
  });
}

const ClockDomain::RuleState* ClockDomain::FindRule(std::string_view name) const {
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      if (state->rule->kind == plan::RuleKind::kAlert && state->rule->name == name)
        return state.get();
    }
  }
  return nullptr;
}

size_t ClockDomain::FiringOnSeparate(std::string_view rule) const {
  size_t firing = 0;
  for (const ClockDomain* separate : separate_) {
    const RuleState* state = separate->FindRule(rule);
    if (state != nullptr && state->alerts.has_value()) firing += state->alerts->firing();
  }
  return firing;
}

std::vector<RuleStatusNow> ClockDomain::Statuses() const {
  std::vector<RuleStatusNow> statuses;
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      if (state->rule->kind != plan::RuleKind::kAlert) continue;
      statuses.push_back({state->rule, state->status.status(), state->status.reason()});
    }
  }
  return statuses;
}

void ClockDomain::Expire() {
  subqueries_.Expire();
  std::vector<window::SeriesId> forgotten = store_->Expire();
  if (forgotten.empty()) return;
  std::sort(forgotten.begin(), forgotten.end());
  const auto is_forgotten = [&](window::SeriesId id) {
    return std::binary_search(forgotten.begin(), forgotten.end(), id);
  };
  for (GroupState& group : groups_) {
    std::erase_if(group.orphans, is_forgotten);
    for (const auto& state : group.rules) {
      std::erase_if(state->last_written, is_forgotten);
      state->binding = 0;  // element ids may be given to others now
    }
  }
}

void ClockDomain::RestartWindows() {
  history_lost_ = attempt_lost_ = false;
  store_->Reset();
  subqueries_.Reset();
  step_times_.Clear();
  watermark = kMinPosition;
  last_tick_ = kMinPosition;
  last_activity_ = kMinPosition;
  scheduled_ = false;
  for (GroupState& group : groups_) {
    group.next = kMaxPosition;
    group.orphans.clear();
    for (const auto& state : group.rules) state->last_written.clear();
  }
}

size_t ClockDomain::MemoryBytes() const {
  return store_->MemoryBytes() + subqueries_.MemoryBytes() + evaluator_->MemoryBytes();
}

}  // namespace pitwall::engine
