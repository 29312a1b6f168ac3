// From transitions and status changes to the events that everyone outside meets; incidents.h adds
// what they have to do with each other.
#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "rules/alert/element_lookup.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/rule_state.h"
#include "services/model/issues/status_text.h"

namespace pitwall::engine {

namespace {

constexpr size_t kMaxEvidence = 16;
constexpr std::string_view kRowEvery = "a row every ";
constexpr std::string_view kSampleEvery = "a sample every ";

// With one digit after the point, of long distances none.
double Readable(double distance) {
  return distance < 10 ? std::round(distance * 10) / 10 : std::round(distance);
}

// Samples are too far apart for the rule, which no waiting changes.
std::string NearerText(const HistoryGate& wait, bool steps) {
  if (!steps)
    return Cat(kSampleEvery, Readable(wait.has), " s; needs one every ", Readable(wait.wants),
               " s");
  if (wait.wants < 2) return Cat(kRowEvery, Readable(wait.has), " steps; needs every step");
  return Cat(kRowEvery, Readable(wait.has), " steps; needs one every ", Readable(wait.wants),
             " steps");
}

// Whether this reason says so and the one before did not.
bool SaysNearer(std::string_view reason, std::string_view before) {
  for (const std::string_view begin : {kRowEvery, kSampleEvery}) {
    if (reason.find(begin) != reason.npos) return before.find(begin) == before.npos;
  }
  return false;
}

// The moment `seconds` before `time_ns`; 0: the value is no time that has passed.
int64_t OnsetOf(int64_t time_ns, double seconds) {
  const double ns = seconds * 1e9;
  return ns >= 0 && ns < static_cast<double>(time_ns) ? time_ns - std::llround(ns) : 0;
}

// What the elements of a folded issue have in common with others of its kind: first, worst, count,
// names.
void AddFolded(const alert::FoldSummary& folded, IssueEvent* event) {
  if (folded.count == 0) return;
  const auto add = [event](std::string_view name, const Labels& labels, double value) {
    event->evidence.push_back({std::string(name), labels, value});
  };
  if (!folded.named.empty()) add("first", folded.named.front().labels, folded.named.front().value);
  add("worst", folded.worst.labels, folded.worst.value);
  add("count", Labels(), static_cast<double>(folded.count));
  for (const alert::FoldedElement& element : folded.named)
    add("element", element.labels, element.value);
  if (folded.count > 1 && !event->summary.empty())
    CatTo(event->summary, " (and ", folded.count - 1, " more)");
}

IssueEvent EventOf(const plan::Rule& rule, const EvalTime& at, const JobIdentity& job) {
  IssueEvent event;
  event.job = job.id;
  event.job_name = job.name;
  event.reference = job.reference;
  event.owner = job.owner;
  event.rule = rule.name;
  event.alert = rule.alert;
  event.time_ns = at.time_ns;
  event.step = at.step;
  return event;
}

}  // namespace

// Between ticks: what is read is as of the last one. Windows can be read only at ticks of their
// rule's group.
bool ClockDomain::ReturnToLastTick(const RuleState& state) {
  if (last_tick_ == kMinPosition || store_->sealed() != last_tick_ ||
      FloorTo(last_tick_, state.interval, state.align_job ? origin_ : 0) != last_tick_)
    return false;
  store_->BeginTick(last_tick_);
  evaluator_->Begin(last_tick_, store_.get(), subqueries_.views());
  subqueries_.Begin(last_tick_);
  return true;
}

void ClockDomain::EmitTransitions(RuleState* state, const EvalTime& at, bool at_tick,
                                  const JobIdentity& job, EventSink* out) {
  const plan::Rule& rule = *state->rule;
  const bool read = at_tick || (!transitions_.empty() && ReturnToLastTick(*state));
  for (const alert::Transition& transition : transitions_) {
    if (transition.kind == alert::TransitionKind::kPending ||
        transition.kind == alert::TransitionKind::kDropped)
      continue;
    IssueEvent event = EventOf(rule, at, job);
    event.type = transition.kind == alert::TransitionKind::kFound     ? EventType::kIssueFound
                 : transition.kind == alert::TransitionKind::kUpdated ? EventType::kIssueUpdated
                                                                      : EventType::kIssueResolved;
    event.attempt = transition.active.attempt;
    event.labels = transition.labels;
    event.severity = std::string(transition.labels.Get("severity"));
    event.active_since_ns = transition.active.time_ns;
    event.started_at_ns = transition.started.time_ns;
    event.last_seen_at_ns = transition.last_seen.time_ns;
    if (transition.kind == alert::TransitionKind::kResolved) {
      event.ended_at_ns = at.time_ns;
      event.end_reason = transition.end_reason;
    }
    event.value = transition.value;
    event.summary = std::string(transition.Annotation("summary"));
    event.description = std::string(transition.Annotation("description"));
    event.suggestion = std::string(transition.Annotation("suggestion"));
    if (state->across_ranks && !missing_ranks_.empty()) {
      CatTo(event.description, event.description.empty() ? "" : " ", "Evaluated without ",
            missing_ranks_, ".");
    }
    if (transition.kind == alert::TransitionKind::kFound)
      event.capture = std::string(transition.Annotation("capture"));
    const bool told = !transition.Annotation("onset").empty() && at.step == kNoStep;
    event.root_cause = transition.root_cause;
    // As evaluated: the job, or the program, may have others by now.
    const auto parameters = state->alerts->parameters();
    event.parameters.assign(parameters.begin(), parameters.end());
    AddFolded(transition.folded, &event);
    // Value and evidence are of one moment: of the tick that was read, where the rule's input is
    // there.
    const bool seen = transition.last_seen.position == (at_tick ? at.position : last_tick_);
    if (read && (seen || ReadSubject(rule, transition.element, &event.value)))
      FillEvidence(rule, transition.element, &event);
    if (told && seen && event.type != EventType::kIssueResolved)
      event.onset_ns = OnsetOf(at.time_ns, event.value);
    event.sequence = transition.sequence;
    event.id = MakeEventId(event);
    ++counters_->events;
    out->events.push_back(std::move(event));
  }
}

bool ClockDomain::SetRootCause(const IncidentTracker::RootCauseChange& change) {
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      if (state->rule->name == change.rule && state->alerts.has_value() &&
          state->alerts->SetRootCause(change.labels, change.root_cause, change.told))
        return true;
    }
  }
  return false;
}

bool ClockDomain::ReadSubject(const plan::Rule& rule, const Labels& element, double* value) {
  if (rule.subject == plan::kNoNode) return false;
  auto result = evaluator_->Evaluate(rule.subject);
  if (!result.ok()) return false;
  const eval::Vector& vector = **result;
  alert::ElementLookup lookup;
  size_t present = 0;
  for (const uint32_t i : lookup.Find(element, vector)) {
    if (!vector.present[i]) continue;
    if (++present > 1) return false;
    *value = vector.values[i];
  }
  return present == 1;
}

void ClockDomain::FillEvidence(const plan::Rule& rule, const Labels& element, IssueEvent* event) {
  if (rule.threshold != plan::kNoNode) {
    if (auto threshold = evaluator_->Evaluate(rule.threshold);
        threshold.ok() && (*threshold)->type == plan::ValueType::kScalar) {
      event->threshold = (*threshold)->scalar();
    }
  }
  for (const plan::NodeId node : rule.evidence) {
    auto result = evaluator_->Evaluate(node);
    if (!result.ok()) continue;
    const eval::Vector& vector = **result;
    alert::ElementLookup lookup;
    for (const uint32_t i : lookup.Find(element, vector)) {
      if (event->evidence.size() >= kMaxEvidence) break;
      if (!vector.present[i]) continue;
      event->evidence.push_back({plan::ShownText(domain(), domain().nodes[node.index()]),
                                 vector.labels(i), vector.values[i]});
    }
  }
}

std::string ClockDomain::PositionText(int64_t position) const {
  if (clock().step) return Cat("step ", (position + kStepUnit - 1) / kStepUnit);
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*SZ", absl::FromUnixNanos(position),
                          absl::UTCTimeZone());
}

std::string ClockDomain::WaitsFor(const RuleState& state, const EvalTime& at) const {
  std::string reason;
  const EvalTime* first = state.alerts.has_value() ? state.alerts->FirstPending() : nullptr;
  if (first != nullptr) {
    const size_t pending = state.alerts->pending();
    // At the first tick at which `for` has passed.
    const int64_t ticks = (state.rule->hold + state.interval - 1) / state.interval;
    CatTo(reason, pending, pending == 1 ? kElementPending : kElementsPending,
          PositionText(first->position), ", and fires at ",
          PositionText(first->position + ticks * state.interval));
  }
  const HistoryGate& history = state.history_wait;
  if (history.waits()) CatTo(reason, reason.empty() ? "" : "; ");
  switch (history.what) {
    case HistoryGate::For::kNothing:
      break;
    case HistoryGate::For::kSamples:
      CatTo(reason, "not judged before there are ", history.wants, " samples: ", history.has,
            " so far");
      break;
    case HistoryGate::For::kAge:
      CatTo(reason, "not judged before ", PositionText(history.until));
      break;
    case HistoryGate::For::kTick:
      CatTo(reason, "the attempt has just begun");
      break;
    case HistoryGate::For::kNearer:
      CatTo(reason, NearerText(history, clock().step));
      break;
  }
  int64_t full = kMinPosition;
  int64_t reach = 0;  // a window inside of a subquery must be full for as long as the outer one is
  for (const uint32_t subquery : state.subqueries) {
    full = std::max(full, subqueries_.FullFrom(subquery));
    reach += domain().subqueries[subquery].reach;
  }
  for (const plan::DemandRef& ref : state.demands) {
    if (ref.source > 0) continue;
    if (const auto level = store_->Filling(ref.demand); level.has_value()) {
      return Cat(reason, reason.empty() ? "" : "; ",
                 "a window of first samples of the attempt is not full: ", level->has, " of ",
                 level->wants, " samples");
    }
    const int64_t from = store_->FullFrom(ref.demand);
    if (from > kMinPosition) full = std::max(full, from + reach);
  }
  if (full <= at.position) return reason;
  return Cat(reason, reason.empty() ? "" : "; ",
             "a window of this rule is new on a running job and full at ", PositionText(full));
}

void ClockDomain::ReportStatus(RuleState* state, const Status& error, const EvalTime& at,
                               const JobIdentity& job, EventSink* out) {
  // Of a recording rule only trouble is told, and its end.
  if (state->rule->kind != plan::RuleKind::kAlert && error.ok() &&
      state->status.status() != RuleStatus::kError)
    return;
  std::string message(ToStd(error.message()));
  if (message.empty()) message = job.limit_reason;
  // On the step clock nothing is lost of what no source sends.
  const bool sent = !clock().step || std::find(state->needs_met.begin(), state->needs_met.end(),
                                               0) == state->needs_met.end();
  if (message.empty() && history_lost_ && sent && state->rule->kind == plan::RuleKind::kAlert)
    message = HistoryLostReason(*state, at);
  const size_t firing = (state->alerts.has_value() ? state->alerts->firing() : 0) +
                        FiringOnSeparate(state->rule->name);
  const std::string waits = message.empty() && firing == 0 ? WaitsFor(*state, at) : std::string();
  const alert::StatusInput input{.error = !message.empty(),
                                 .error_message = message,
                                 .firing = firing,
                                 .needs_met = state->needs_met,
                                 .inputs = &state->inputs,
                                 .in_progress = waits,
                                 .time_ns = at.time_ns};
  const std::string before = state->status.reason();
  auto change = state->status.Update(input);
  if (!change.has_value()) return;
  // How far the reason of InProgress has come is no change; that it never will is one.
  const bool counts = !change->reason_only || change->status != RuleStatus::kInProgress ||
                      SaysNearer(change->reason, before);
  if (counts) EmitStatus(*state, *change, at, job, out);
}

void ClockDomain::EmitStatus(const RuleState& state, const alert::StatusChange& change,
                             const EvalTime& at, const JobIdentity& job, EventSink* out) {
  if (!is_shared()) return;
  IssueEvent event = EventOf(*state.rule, at, job);
  event.type = EventType::kRuleStatus;
  event.attempt = at.attempt;
  event.status = change.status;
  event.previous_status = change.previous;
  event.status_reason = change.reason;
  if (change.status == RuleStatus::kNoData) {
    for (const plan::Need& need : state.rule->needs) {
      if (const auto it = job.withheld.find(need.metric); it != job.withheld.end()) {
        CatTo(event.status_reason, "; ", need.metric, " is withheld from this job: ", it->second);
      }
    }
  }
  event.ever_found = change.ever_found;
  // Statuses have no life of their own to count: place on the clock and what it became make the id.
  event.active_since_ns = at.time_ns;
  event.sequence = static_cast<uint64_t>(change.status);
  event.labels = Labels({{"reason", change.reason_only ? change.reason : ""}});
  event.id = MakeEventId(event);
  event.labels = Labels();
  ++counters_->events;
  out->events.push_back(std::move(event));
}

}  // namespace pitwall::engine
