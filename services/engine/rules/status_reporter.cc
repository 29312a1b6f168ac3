#include "services/engine/rules/status_reporter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/model/issues/status_text.h"

namespace pitwall::engine {

namespace {

constexpr std::string_view kRowEvery = "a row every ";
constexpr std::string_view kSampleEvery = "a sample every ";

// Rounds to one decimal place, or to an integer if the distance is 10 or more.
double Readable(double distance) {
  return distance < 10 ? std::round(distance * 10) / 10 : std::round(distance);
}

// Returns the status reason of a rule whose samples are too far apart. Waiting does not help.
std::string NearerText(const HistoryGate& gate, bool steps) {
  if (!steps)
    return Cat(kSampleEvery, Readable(gate.has), " s; needs one every ", Readable(gate.wants),
               " s");
  if (gate.wants < 2) return Cat(kRowEvery, Readable(gate.has), " steps; needs every step");
  return Cat(kRowEvery, Readable(gate.has), " steps; needs one every ", Readable(gate.wants),
             " steps");
}

// Returns whether `reason` contains the text of NearerText and `before` does not.
bool BecomesNearer(std::string_view reason, std::string_view before) {
  for (const std::string_view begin : {kRowEvery, kSampleEvery}) {
    if (reason.find(begin) != reason.npos) return before.find(begin) == before.npos;
  }
  return false;
}

}  // namespace

std::string StatusReporter::PositionText(Position position) const {
  if (from_.inputs->on_steps())
    return Cat("step ", StepOf(position + kStepLength - Duration::Nanos(1)).value());
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*SZ", absl::FromUnixNanos(EventTimeOf(position).ns()),
                          absl::UTCTimeZone());
}

std::string StatusReporter::PendingText(const RuleState& state) const {
  const EvalTime* first = state.alerts.has_value() ? state.alerts->FirstPending() : nullptr;
  if (first == nullptr) return "";
  const size_t pending = state.alerts->pending();
  // The alert fires at the first tick at or after the end of the `for` duration.
  const Duration interval = state.spec.interval;
  const int64_t ticks = (state.spec.rule.hold + interval - Duration::Nanos(1)) / interval;
  return Cat(pending, pending == 1 ? kElementPending : kElementsPending,
             PositionText(first->position), ", and fires at ",
             PositionText(first->position + ticks * interval));
}

std::string StatusReporter::HistoryText(const HistoryGate& gate) const {
  switch (gate.what) {
    case HistoryGate::For::kNothing:
      break;
    case HistoryGate::For::kSamples:
      return Cat("not judged before there are ", gate.wants, " samples: ", gate.has, " so far");
    case HistoryGate::For::kAge:
      return Cat("not judged before ", PositionText(gate.until));
    case HistoryGate::For::kTick:
      return "the attempt has just begun";
    case HistoryGate::For::kNearer:
      return NearerText(gate, from_.inputs->on_steps());
  }
  return "";
}

std::string StatusReporter::WindowText(const RuleSpec& spec, Position position) const {
  Position full = Position::Earliest();
  Duration reach;  // A window inside a subquery must be full throughout the outer window.
  for (const uint32_t subquery : spec.subqueries) {
    full = std::max(full, from_.inputs->subqueries().FullFrom(subquery));
    reach += from_.inputs->domain().subqueries[subquery].reach;
  }
  const window::DemandResults& results = from_.inputs->store()->results();
  for (const plan::DemandRef& ref : spec.demands) {
    if (ref.source > 0) continue;
    if (const auto level = results.Filling(ref.demand); level.has_value()) {
      return Cat("a window of first samples of the attempt is not full: ", level->has, " of ",
                 level->wants, " samples");
    }
    const Position from = results.FullFrom(ref.demand);
    if (from > Position::Earliest()) full = std::max(full, from + reach);
  }
  if (full <= position) return "";
  return Cat("a window of this rule is new on a running job and full at ", PositionText(full));
}

std::string StatusReporter::WaitsFor(const RuleState& state, Position position) const {
  std::string reason;
  for (const std::string& text :
       {PendingText(state), HistoryText(state.history_wait), WindowText(state.spec, position)}) {
    if (!text.empty()) CatTo(reason, reason.empty() ? "" : "; ", text);
  }
  return reason;
}

std::string StatusReporter::ErrorOf(const RuleState& state, const Status& error,
                                    const EvalScope& scope) const {
  if (!error.message().empty()) return std::string(ToStd(error.message()));
  if (!scope.job.limit_reason.empty()) return scope.job.limit_reason;
  const bool steps = from_.inputs->on_steps();
  // On the step clock, the loss does not affect a rule if no source sends its input.
  if (!state.spec.alerting() || (steps && !state.needs.AllMet())) return "";
  const Position position = steps ? from_.ticks->last_tick() : scope.at.position;
  if (!from_.rules->IsAffected(state, *from_.loss, position)) return "";
  return "history lost: earlier records or state are missing; in Error until the rule's windows "
         "are full";
}

void StatusReporter::Report(RuleState* state, const Status& error, const EvalScope& scope) {
  // For recording rules, only the start and end of errors are reported.
  if (!state->spec.alerting() && error.ok() && state->status.status() != RuleStatus::kError) return;
  const std::string message = ErrorOf(*state, error, scope);
  size_t firing = state->firing();
  for (const RuleTable* separate : separate_) firing += separate->Firing(state->spec.rule.name);
  const std::string waits =
      message.empty() && firing == 0 ? WaitsFor(*state, scope.at.position) : std::string();
  const alert::StatusInput input{.error = !message.empty(),
                                 .error_message = message,
                                 .firing = firing,
                                 .needs_met = state->needs.met(),
                                 .inputs = &state->inputs,
                                 .in_progress = waits,
                                 .time_ns = scope.at.time.ns()};
  const std::string before = state->status.reason();
  const auto change = state->status.Update(input);
  if (!change.has_value()) return;
  // Progress in an InProgress reason is not reported, unless waiting cannot help.
  const bool counts = !change->reason_only || change->status != RuleStatus::kInProgress ||
                      BecomesNearer(change->reason, before);
  if (counts) Emit(*state, *change, scope);
}

void StatusReporter::Finish(const EvalScope& scope) {
  from_.rules->ForEach([&](RuleState& state) {
    if (!state.spec.alerting()) return;
    if (const auto change = state.status.Finish()) Emit(state, *change, scope);
  });
}

void StatusReporter::Stop(RuleState* state, const EvalScope& scope) {
  if (!state->status.reported()) return;
  if (const auto change = state->status.Stop("the rule was removed")) Emit(*state, *change, scope);
}

void StatusReporter::Emit(const RuleState& state, const alert::StatusChange& change,
                          const EvalScope& scope) {
  if (emits_) events_->EmitStatus(state.spec.rule, change, scope);
}

}  // namespace pitwall::engine
