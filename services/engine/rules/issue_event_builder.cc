#include "services/engine/rules/issue_event_builder.h"

#include <cmath>
#include <utility>

#include "rules/alert/element_lookup.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/text/strings.h"

namespace pitwall::engine {

namespace {

constexpr size_t kMaxEvidence = 16;

// Returns the time `seconds` before `time`, or 0 if that is not a valid time in the past.
EventTime OnsetOf(EventTime time, double seconds) {
  const double ns = seconds * 1e9;
  return ns >= 0 && ns < static_cast<double>(time.ns()) ? time - Duration::Nanos(std::llround(ns))
                                                        : EventTime();
}

// Adds the elements of a folded issue in the format common to all folded events: first, worst,
// count, names.
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

IssueEvent EventOfRule(const plan::Rule& rule, const EvalScope& scope) {
  IssueEvent event;
  event.job = scope.job.id;
  event.job_name = scope.job.name;
  event.reference = scope.job.reference;
  event.owner = scope.job.owner;
  event.rule = rule.name;
  event.alert = rule.alert;
  event.time = scope.at.time;
  event.step = scope.at.step.value();
  return event;
}

EventType TypeOf(alert::TransitionKind kind) {
  return kind == alert::TransitionKind::kFound     ? EventType::kIssueFound
         : kind == alert::TransitionKind::kUpdated ? EventType::kIssueUpdated
                                                   : EventType::kIssueResolved;
}

}  // namespace

bool IssueEventBuilder::ReturnToLastTick(const RuleSpec& spec) {
  return ticks_->WasDue(spec.interval, spec.align_job) && inputs_->ReturnTo(ticks_->last_tick());
}

IssueEvent IssueEventBuilder::EventOf(const RuleState& state, const alert::Transition& transition,
                                      const EvalScope& scope) const {
  IssueEvent event = EventOfRule(state.spec.rule, scope);
  event.type = TypeOf(transition.kind);
  event.attempt = transition.active.attempt;
  event.labels = transition.labels;
  event.severity = std::string(transition.labels.Get("severity"));
  event.active_since = transition.active.time;
  event.started_at = transition.started.time;
  event.last_seen_at = transition.last_seen.time;
  if (transition.kind == alert::TransitionKind::kResolved) {
    event.ended_at = scope.at.time;
    event.end_reason = transition.end_reason;
    event.end_detail = scope.end_detail;
  }
  event.value = transition.value;
  event.summary = std::string(transition.Annotation("summary"));
  event.description = std::string(transition.Annotation("description"));
  event.suggestion = std::string(transition.Annotation("suggestion"));
  if (state.spec.across_ranks && !missing_ranks_.empty()) {
    CatTo(event.description, event.description.empty() ? "" : " ", "Evaluated without ",
          missing_ranks_, ".");
  }
  if (transition.kind == alert::TransitionKind::kFound)
    event.capture = std::string(transition.Annotation("capture"));
  event.root_cause = transition.root_cause;
  // The event contains the parameters that the evaluation used, because the values in the job or
  // program may have changed since.
  const auto parameters = state.alerts->parameters();
  event.parameters.assign(parameters.begin(), parameters.end());
  AddFolded(transition.folded, &event);
  return event;
}

void IssueEventBuilder::EmitTransitions(const RuleState& state,
                                        std::span<const alert::Transition> transitions,
                                        bool at_tick, const EvalScope& scope) {
  const plan::Rule& rule = state.spec.rule;
  const bool read = at_tick || (!transitions.empty() && ReturnToLastTick(state.spec));
  for (const alert::Transition& transition : transitions) {
    if (transition.kind == alert::TransitionKind::kPending ||
        transition.kind == alert::TransitionKind::kDropped)
      continue;
    IssueEvent event = EventOf(state, transition, scope);
    // The value and the evidence must come from the same tick. If the element was last seen at
    // another tick, its value is read again.
    const bool seen =
        transition.last_seen.position == (at_tick ? scope.at.position : ticks_->last_tick());
    if (read && (seen || ReadSubject(rule, transition.element, &event.value)))
      AddEvidence(rule, transition.element, &event);
    const bool has_onset = !transition.Annotation("onset").empty() && scope.at.step == Step::None();
    if (has_onset && seen && event.type != EventType::kIssueResolved)
      event.onset = OnsetOf(scope.at.time, event.value);
    event.sequence = transition.sequence;
    event.id = MakeEventId(event);
    Emit(std::move(event), scope);
  }
}

void IssueEventBuilder::EmitStatus(const plan::Rule& rule, const alert::StatusChange& change,
                                   const EvalScope& scope) {
  IssueEvent event = EventOfRule(rule, scope);
  event.type = EventType::kRuleStatus;
  event.attempt = scope.at.attempt;
  event.status = change.status;
  event.previous_status = change.previous;
  event.status_reason = change.reason;
  if (change.status == RuleStatus::kNoData) {
    for (const plan::Need& need : rule.needs) {
      const auto withheld = scope.job.withheld.find(need.metric);
      if (withheld == scope.job.withheld.end()) continue;
      CatTo(event.status_reason, "; ", need.metric,
            " is withheld from this job: ", withheld->second);
    }
  }
  event.ever_found = change.ever_found;
  // The ID of a status event is derived from its time and the new status.
  event.active_since = scope.at.time;
  event.sequence = static_cast<uint64_t>(change.status);
  event.labels = Labels({{"reason", change.reason_only ? change.reason : ""}});
  event.id = MakeEventId(event);
  event.labels = Labels();
  Emit(std::move(event), scope);
}

void IssueEventBuilder::Emit(IssueEvent event, const EvalScope& scope) {
  ++counters_->events;
  scope.out->Emit(std::move(event));
}

bool IssueEventBuilder::ReadSubject(const plan::Rule& rule, const Labels& element, double* value) {
  if (rule.comparison.subject == plan::kNoNode) return false;
  auto result = inputs_->evaluator().Evaluate(rule.comparison.subject);
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

void IssueEventBuilder::AddEvidence(const plan::Rule& rule, const Labels& element,
                                    IssueEvent* event) {
  eval::Evaluator& evaluator = inputs_->evaluator();
  if (rule.comparison.threshold != plan::kNoNode) {
    if (auto threshold = evaluator.Evaluate(rule.comparison.threshold);
        threshold.ok() && (*threshold)->type == plan::ValueType::kScalar) {
      event->threshold = (*threshold)->scalar();
    }
  }
  const plan::DomainPlan& domain = inputs_->domain();
  for (const plan::NodeId node : rule.comparison.evidence) {
    auto result = evaluator.Evaluate(node);
    if (!result.ok()) continue;
    const eval::Vector& vector = **result;
    alert::ElementLookup lookup;
    for (const uint32_t i : lookup.Find(element, vector)) {
      if (event->evidence.size() >= kMaxEvidence) break;
      if (!vector.present[i]) continue;
      event->evidence.push_back({plan::ShownText(domain, domain.nodes[node.index()]),
                                 vector.labels(i), vector.values[i]});
    }
  }
}

}  // namespace pitwall::engine
