#include "rules/alert/alert_state.h"

#include <algorithm>
#include <utility>

#include "rules/alert/alert_labels.h"
#include "rules/alert/issues/folded_issues.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

constexpr uint8_t kFormat = 2;
// kFormat, followed by the issues of a rule with `fold`.
constexpr uint8_t kFoldedFormat = 3;
// Bit added to either format for a rule with `unsteady`, whose data comes last.
constexpr uint8_t kUnsteady = 0x10;

uint8_t FormatOf(bool folds, bool recurs) {
  return (folds ? kFoldedFormat : kFormat) | (recurs ? kUnsteady : 0);
}

bool LacksInput(Alert& a, const AlertInput& input) {
  return input.subject != nullptr && !a.lookups.subject.IsPresent(a.element, *input.subject);
}

// Returns whether an alert that is missing from expr may end.
bool CanEnd(Alert& a, const AlertInput& input) {
  if (input.clear == nullptr) return true;
  if (a.lookups.clear.IsPresent(a.element, *input.clear)) return true;
  if (input.subject == nullptr && input.clear_subject == nullptr) return false;
  if (input.subject != nullptr && a.lookups.subject.IsPresent(a.element, *input.subject))
    return false;
  return input.clear_subject == nullptr ||
         !a.lookups.clear_subject.IsPresent(a.element, *input.clear_subject);
}

// Takes the value and the element from expr. Returns whether the element has changed.
bool TakeElement(Alert& a, const AlertInput& input) {
  a.value = input.expr->values[a.step.seen_at];
  a.last_seen = input.at;
  a.text.stale = a.text.stale || a.text.rule_changed;
  a.text.rule_changed = false;
  if (a.place == a.step.seen_at) return false;
  a.place = a.step.seen_at;
  a.element = input.expr->labels(a.step.seen_at);
  a.text.stale = true;
  a.lookups.Reset();
  return true;
}

}  // namespace

AlertState::AlertState(AlertRulePtr rule, AlertOptions options)
    : options_(options), templates_(std::move(rule)), recurrence_(this->rule().unsteady()) {
  if (!this->rule().fold().empty()) {
    folded_ =
        std::make_unique<FoldedIssues>(this->rule().fold(), this->rule().least_is_worst(), options);
  }
}
AlertState::~AlertState() = default;
AlertState::AlertState(AlertState&&) noexcept = default;
AlertState& AlertState::operator=(AlertState&&) noexcept = default;

void AlertState::SetRule(AlertRulePtr rule) {
  for (const auto& alert : alerts_.alerts()) {
    templates_.Refresh(elements_.Saw(*alert), alert.get());
    alert->text.rule_changed = true;
  }
  templates_.SetRule(std::move(rule));
  alerts_.Unbind();
}

Status AlertState::Step(const AlertInput& input, std::vector<Transition>* out) {
  templates_.BeginStep(input);
  Status status = elements_.Match(input, templates_, options_, &alerts_);
  if (status.ok()) status = Judge(input);
  if (status.ok() && folded_ != nullptr) {
    happened_.clear();
    Apply(input, &happened_);
    folded_->Step(alerts_.alerts(), happened_, input.at, out);
  } else if (status.ok()) {
    Apply(input, out);
  }
  templates_.EndStep();
  return status;
}

Status AlertState::Judge(const AlertInput& input) {
  using Fate = AlertStep::Fate;
  const std::span<const ElementMatcher::Fresh> fresh = elements_.fresh();
  size_t staying = fresh.size();
  AlertLabelBytes bytes(options_.max_label_bytes);
  for (const ElementMatcher::Fresh& one : fresh) bytes.Add(one.labels);
  for (const auto& alert : alerts_.alerts()) {
    Alert& a = *alert;
    AlertStep& step = a.step;
    step.next_can_end_since = Position::Min();
    step.next_clear_since = EventTime::Min();
    step.fate = Fate::kStay;
    if (!elements_.Saw(a)) {
      if (!a.firing) {
        step.fate = Fate::kDrop;
      } else if (CanEnd(a, input)) {
        step.next_can_end_since =
            a.can_end_since == Position::Min() ? input.at.position : a.can_end_since;
        if (input.at.position - step.next_can_end_since >= rule().keep_firing()) {
          const bool stays = !LacksInput(a, input) && recurrence_.Holds(a, input.at.time);
          step.fate = stays ? Fate::kStay : Fate::kEnd;
        }
      }
    }
    staying += step.fate == Fate::kStay;
    if (!fresh.empty() && step.fate == Fate::kStay) bytes.Add(a.labels);
  }
  RETURN_IF_ERROR(bytes.status());
  const size_t limit = rule().limit() > 0 ? std::min<size_t>(rule().limit(), options_.max_alerts)
                                          : options_.max_alerts;
  if (staying > limit)
    return ResourceExhausted(Cat("exceeded limit of ", limit, " with ", staying, " alerts"));
  return OkStatus();
}

void AlertState::Apply(const AlertInput& input, std::vector<Transition>* out) {
  bool moved = false;
  bool removes = false;
  const std::span<ElementMatcher::Fresh> fresh = elements_.fresh();
  auto begins = fresh.begin();
  for (const auto& alert : alerts_.alerts()) {
    Alert& a = *alert;
    // New alerts are inserted in label order.
    while (begins != fresh.end() && begins->labels < a.labels) Begin(*begins++, input, out);
    if (a.step.fate != AlertStep::Fate::kStay) {
      End(a, input, out);
      removes = true;
      continue;
    }
    a.can_end_since = a.step.next_can_end_since;
    const bool seen = elements_.Saw(a);
    Recurrence::Stay(a, seen);
    if (seen) moved |= TakeElement(a, input);
    if (a.firing) {
      Update(a, input.at, out);
    } else if (input.at.position - a.active.position >= rule().hold()) {
      Fire(a, input.at, out);
    }
  }
  while (begins != fresh.end()) Begin(*begins++, input, out);
  alerts_.Commit(removes, moved);
}

void AlertState::End(Alert& a, const AlertInput& input, std::vector<Transition>* out) {
  if (a.step.fate == AlertStep::Fate::kDrop) {
    if (options_.report_pending) Report(TransitionKind::kDropped, a, input.at, out);
    return;
  }
  const bool no_data = LacksInput(a, input);
  if (!no_data) recurrence_.End(a, input.at.time);
  ++a.sequence;
  templates_.Refresh(elements_.Saw(a), &a);
  Report(TransitionKind::kResolved, a, input.at, out);
  out->back().end_reason = no_data ? EndReason::kNoData : EndReason::kCleared;
}

void AlertState::Begin(ElementMatcher::Fresh& fresh, const AlertInput& input,
                       std::vector<Transition>* out) {
  auto alert = std::make_unique<Alert>();
  Alert& a = *alert;
  a.labels = std::move(fresh.labels);
  a.element = input.expr->labels(fresh.place);
  a.value = input.expr->values[fresh.place];
  a.active = a.last_seen = input.at;
  a.place = fresh.place;
  if (rule().hold() <= Duration::Zero()) {
    Fire(a, input.at, out);
  } else if (options_.report_pending) {
    Report(TransitionKind::kPending, a, input.at, out);
  }
  alerts_.Add(std::move(alert));
}

void AlertState::Fire(Alert& a, const EvalTime& at, std::vector<Transition>* out) {
  alerts_.MarkFiring(&a);
  a.started = at;
  a.sequence = 1;
  recurrence_.Begin(a, at.time);
  templates_.Expand(at, &a);
  a.last_event = at.time;
  a.cause.changed = false;
  Report(TransitionKind::kFound, a, at, out);
}

void AlertState::Update(Alert& a, const EvalTime& at, std::vector<Transition>* out) {
  const Duration quiet = at.time - a.last_event;
  if (quiet < options_.min_update) return;
  bool report = quiet >= options_.max_update || a.cause.changed;
  const bool seen = elements_.Saw(a);
  // The text is expanded only if it may have changed. A new step or time alone does not count.
  if (templates_.annotations_vary() && report) a.text.stale = a.text.stale || seen;
  report |= templates_.Refresh(seen, &a);
  if (!report) return;
  ++a.sequence;
  a.last_event = at.time;
  a.cause.changed = false;
  Report(TransitionKind::kUpdated, a, at, out);
}

void AlertState::EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out) {
  for (const auto& alert : alerts_.alerts()) {
    if (!alert->firing) {
      if (options_.report_pending) Report(TransitionKind::kDropped, *alert, at, out);
    } else if (folded_ == nullptr) {
      ++alert->sequence;
      templates_.Refresh(elements_.Saw(*alert), alert.get());
      Report(TransitionKind::kResolved, *alert, at, out);
      out->back().end_reason = reason;
    }
  }
  if (folded_ != nullptr) folded_->EndAll(reason, at, out);
  alerts_.Clear();
  recurrence_.Clear();
}

bool AlertState::SetRootCause(const Labels& labels, std::string_view root_cause, bool reported) {
  if (folded_ != nullptr) return folded_->SetRootCause(labels, root_cause, reported);
  Alert* alert = alerts_.Find(labels);
  if (alert == nullptr) return false;
  alert->cause.Set(root_cause, reported);
  return true;
}

void AlertState::Save(BinaryWriter& out) const {
  out.U8(FormatOf(folded_ != nullptr, recurrence_.on()));
  alerts_.Save(out);
  templates_.Save(out);
  if (folded_ != nullptr) folded_->Save(out);
  if (recurrence_.on()) recurrence_.Save(alerts_.alerts(), out);
}

void AlertState::Restore(BinaryReader& in) {
  if (in.U8() != FormatOf(folded_ != nullptr, recurrence_.on())) in.Fail();
  alerts_.Restore(in);
  templates_.Restore(in);
  if (folded_ != nullptr) folded_->Restore(in);
  if (recurrence_.on()) recurrence_.Restore(alerts_.alerts(), in);
  if (!in.ok()) alerts_.Clear();
}

}  // namespace pitwall::alert
