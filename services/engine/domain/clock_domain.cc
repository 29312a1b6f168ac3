#include "services/engine/domain/clock_domain.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::engine {

namespace {

DomainInputs::Limits LimitsOf(const EngineOptions& options, bool shared) {
  const window::Limits limits{.max_series = options.max_series_per_job,
                              .max_open_samples = options.open_cells_per_clock()};
  DomainInputs::Limits all{.series = limits, .subqueries = limits};
  // Together, all separate clocks of a mode may hold as many samples as the shared clock.
  if (!shared) all.series.max_open_samples /= options.max_separate_clocks_per_mode;
  return all;
}

}  // namespace

ClockDomain::ClockDomain(plan::ProgramPtr program, size_t domain, const EngineOptions& options,
                         EngineCounters* counters, uint32_t clock_id)
    : counters_(counters),
      clock_id_(clock_id),
      inputs_(std::move(program), domain, LimitsOf(options, clock_id == kSharedClock)),
      ticks_(&inputs_),
      recorded_(inputs_.domain()),
      rules_(inputs_.domain(), &recorded_),
      events_(&inputs_, &ticks_, counters),
      statuses_({&inputs_, &ticks_, &rules_, &history_loss_}, &events_, /*emits=*/id().is_shared()),
      evaluator_({&inputs_, &rules_, &recorded_, &events_, &statuses_, counters},
                 /*across_ranks=*/id().is_shared()),
      pace_{.times = StepTimes(options.max_step_times), .patience = {}} {}

void ClockDomain::SetSeparate(const std::vector<const ClockDomain*>& separate) {
  std::vector<const RuleTable*> rules;
  for (const ClockDomain* domain : separate) rules.push_back(&domain->rules_);
  statuses_.SetSeparate(std::move(rules));
}

void ClockDomain::Evaluate(const EvalTime& at, const JobIdentity& job, EventSink* out) {
  ticks_.BeginTick(at.position);
  history_loss_.BeginTick(at.position);
  evaluator_.BeginTick(at);
  const EvalScope scope{.at = at, .job = job, .out = out};
  for (size_t group = 0; group < rules_.groups().size(); ++group) {
    if (ticks_.TakeTick(group, at.position)) evaluator_.EvaluateGroup(group, scope);
  }
  inputs_.FinishTick();
  if (history_loss_.lost() && !rules_.IsAnyAffected(history_loss_, at.position))
    history_loss_.Recover();
}

bool ClockDomain::history_lost() const {
  return history_loss_.lost() && (!clock().step || ticks_.watermark() != Position::Earliest());
}

void ClockDomain::Expire() {
  const std::vector<window::SeriesId> forgotten = inputs_.Expire();
  if (!forgotten.empty()) recorded_.Forget(forgotten);
}

void ClockDomain::BeginAttempt(EventTime time) {
  inputs_.store()->BeginAttempt(PositionOf(time));
  history_loss_.BeginAttempt();
}

void ClockDomain::RestartWindows() {
  history_loss_.Clear();
  inputs_.Reset();
  ticks_.Restart();
  recorded_.Restart();
  pace_.times.Clear();
}

void ClockDomain::Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at,
                          const JobIdentity& job, EventSink* out) {
  const plan::ProgramPtr old_program = inputs_.program();  // Keeps the old rules alive.
  const plan::DomainPlan& old_domain = inputs_.domain();
  const plan::DomainPlan& new_domain = program->domains[domain];
  RecordedSeries recorded(new_domain);
  RuleTable next(new_domain, &recorded);
  const std::vector<RuleEvaluator::Succession> unchanged =
      evaluator_.EndChanged(next, {.at = at, .job = job, .out = out});
  const ReloadStart start = ticks_.StartOfReload(at.position);
  inputs_.Replace(std::move(program), domain, start);
  ticks_.Replace(start);
  const std::vector<window::SeriesId> ended = recorded.Inherit(&recorded_, old_domain, new_domain);
  // If the store is full, stale markers cannot be written, and the series end after the lookback
  // period instead.
  if (!ended.empty() && !inputs_.store()->AppendStale({.position = at.position.Next()}, ended).ok())
    counters_->Count(Drop::kLimit, ended.size());
  for (const auto& [from, to] : unchanged) to->Inherit(from, new_domain);
  rules_ = std::move(next);
  recorded_ = std::move(recorded);
}

void ClockDomain::Save(BinaryWriter& out) const {
  inputs_.Save(out);
  ticks_.Save(out);
  pace_.times.Save(out);
  pace_.patience.Save(out);
  const std::vector<plan::Group>& groups = inputs_.domain().groups;
  out.U64(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    out.Str(groups[g].name);
    ticks_.SaveGroup(g, out);
    recorded_.SaveOrphans(g, out);
    rules_.SaveGroup(g, out);
  }
}

Status ClockDomain::Restore(BinaryReader& in, uint32_t format) {
  RETURN_IF_ERROR(inputs_.Restore(in));
  ticks_.Restore(in);
  pace_.times.Restore(in, /*ordinals=*/format >= 7);
  if (format >= 7) pace_.patience.Restore(in);
  const std::vector<plan::Group>& groups = inputs_.domain().groups;
  if (in.U64() != groups.size()) return DataLoss("snapshot: created with different rule groups");
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::string name = in.Str();
    if (name != groups[g].name) {
      return DataLoss(Cat("snapshot: contains group ", Quote(name), ", but the rule set has ",
                          Quote(groups[g].name)));
    }
    ticks_.RestoreGroup(g, in);
    recorded_.RestoreOrphans(g, in);
    RETURN_IF_ERROR(rules_.RestoreGroup(g, name, in));
  }
  return in.ok() ? OkStatus() : DataLoss("snapshot: rule state is damaged");
}

}  // namespace pitwall::engine
