#include "rules/alert/alert_state.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include "rules/alert/alert_labels.h"
#include "rules/alert/alert_record.h"
#include "rules/alert/folded_issues.h"
#include "rules/alert/label_codec.h"
#include "rules/alert/present_elements.h"
#include "rules/alert/recurrence.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

constexpr uint8_t kFormat = 2;
// The same, and behind it the issues of a rule with `fold`.
constexpr uint8_t kFoldedFormat = 3;
// Added to either for a rule with `unsteady`, whose part comes last.
constexpr uint8_t kUnsteady = 0x10;
constexpr std::string_view kAlertName = "alertname";

}  // namespace

class AlertState::Impl {
 public:
  Impl(AlertRulePtr rule, AlertOptions options)
      : options_(options), recurrence_(rule->unsteady_ns()) {
    if (!rule->fold().empty()) folded_.emplace(rule->fold(), rule->least_is_worst(), options);
    SetRule(std::move(rule));
  }

  void SetRule(AlertRulePtr rule) {
    for (auto& alert : alerts_) Reword(*alert);
    rule_ = std::move(rule);
    // Values stay what they were at the last step: alerts may end before the next one.
    const std::vector<std::pair<std::string, double>> before = std::move(params_);
    params_.clear();
    for (const auto& [name, index] : rule_->parameters()) {
      const auto known =
          std::find_if(before.begin(), before.end(),
                       [&wanted = name](const auto& p) { return p.first == wanted; });
      params_.emplace_back(name, known == before.end() ? 0.0 : known->second);
    }
    annotations_vary_ = annotations_ask_ = false;
    for (const auto& t : rule_->annotations()) {
      annotations_vary_ |= t.text.varies();
      annotations_ask_ |= !t.text.queries().empty();
    }
    for (auto& alert : alerts_) alert->rule_changed = true;
    column_ = nullptr;
  }
  const AlertRule& rule() const { return *rule_; }
  std::span<const std::pair<std::string, double>> parameters() const { return params_; }

  Status Step(const AlertInput& input, std::vector<Transition>* out) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const uint32_t index = rule_->parameters()[i].second;
      params_[i].second = index < input.parameters.size() ? input.parameters[index] : 0;
    }
    ++serial_;
    fresh_.clear();
    Bind(*input.expr);
    queries_ = input.queries;
    Status status = Look(input);
    if (status.ok()) status = Judge(input);
    if (status.ok() && folded_.has_value()) {
      happened_.clear();
      Apply(input, &happened_);
      folded_->Step(alerts_, happened_, input.at, out);
    } else if (status.ok()) {
      Apply(input, out);
    }
    queries_ = nullptr;  // they are the tick's
    return status;
  }

  void EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out) {
    for (auto& alert : alerts_) {
      if (alert->firing && folded_.has_value()) continue;
      if (alert->firing) {
        ++alert->sequence;
        Reword(*alert);
        Report(TransitionKind::kResolved, *alert, at, out);
        out->back().end_reason = reason;
      } else {
        if (options_.report_pending) Report(TransitionKind::kDropped, *alert, at, out);
      }
    }
    if (folded_.has_value()) folded_->EndAll(reason, at, out);
    alerts_.clear();
    by_place_.clear();
    recurrence_.Clear();
    firing_ = 0;
  }

  bool SetRootCause(const Labels& labels, std::string_view root_cause, bool told) {
    if (folded_.has_value()) return folded_->SetRootCause(labels, root_cause, told);
    Alert* alert = Find(labels);
    if (alert == nullptr) return false;
    if (alert->root_cause != root_cause) {
      alert->root_cause = root_cause;
      alert->root_cause_changed = true;
    }
    if (told) alert->root_cause_changed = false;
    return true;
  }

  size_t firing() const { return firing_; }
  size_t pending() const { return alerts_.size() - firing_; }
  const EvalTime* FirstPending() const {
    const EvalTime* first = nullptr;
    for (const auto& alert : alerts_) {
      if (!alert->firing && (first == nullptr || alert->active.position < first->position))
        first = &alert->active;
    }
    return first;
  }
  ActiveAlert Active(size_t i) const {
    Alert& a = *alerts_[i];
    if (a.alerts_series.empty()) NameSeries(*rule_, a);
    ActiveAlert out;
    out.labels = &a.labels;
    out.alerts_series = &a.alerts_series;
    out.for_state_series = &a.for_state_series;
    out.firing = a.firing;
    out.value = a.value;
    out.active_seconds = static_cast<double>(FloorTo(a.active.position, kStepUnit) / kStepUnit);
    out.active = &a.active;
    out.started = &a.started;
    out.sequence = a.sequence;
    return out;
  }

  void Save(BinaryWriter& out) const {
    out.U8(Format());
    out.U64(alerts_.size());
    LabelsWriter labels(out), elements(out);
    for (const auto& alert : alerts_) SaveAlert(*alert, labels, elements, out);
    // Alerts may end before the next step, and their text says them.
    out.U64(params_.size());
    for (const auto& [name, value] : params_) out.Double(value);
    if (folded_.has_value()) folded_->Save(out);
    if (recurrence_.on()) recurrence_.Save(alerts_, out);
  }

  void Restore(BinaryReader& in) {
    alerts_.clear();
    by_place_.clear();
    column_ = nullptr;
    firing_ = 0;
    if (in.U8() != Format()) in.Fail();
    const size_t n = in.Count(20);
    LabelsReader labels(in), elements(in);
    for (size_t i = 0; i < n && in.ok(); ++i) {
      auto alert = std::make_unique<Alert>(ReadAlert(labels, elements, in));
      if (!alerts_.empty() && !(alerts_.back()->labels < alert->labels)) in.Fail();
      firing_ += alert->firing;
      alerts_.push_back(std::move(alert));
    }
    if (in.U64() != params_.size()) in.Fail();
    for (auto& [name, value] : params_) value = in.ok() ? in.Double() : 0;
    if (folded_.has_value()) folded_->Restore(in);
    if (recurrence_.on()) recurrence_.Restore(alerts_, in);
    if (!in.ok()) {
      alerts_.clear();
      firing_ = 0;
    }
  }

 private:
  uint8_t Format() const {
    return (folded_.has_value() ? kFoldedFormat : kFormat) | (recurrence_.on() ? kUnsteady : 0);
  }

  struct Fresh {
    Labels labels;
    uint32_t place;
  };

  // Where the elements of the alerts stand in this column.
  void Bind(const eval::Vector& expr) {
    if (column_ == expr.column) return;
    column_ = expr.column;
    for (auto& alert : alerts_) alert->place = column_->Find(alert->element);
    SortByPlace();
  }
  void SortByPlace() {
    by_place_.clear();
    for (auto& alert : alerts_) {
      if (alert->place >= 0) by_place_.push_back(alert.get());
    }
    std::sort(by_place_.begin(), by_place_.end(),
              [](const Alert* a, const Alert* b) { return a->place < b->place; });
  }

  Alert* Find(const Labels& labels) {
    const auto it = std::lower_bound(
        alerts_.begin(), alerts_.end(), labels,
        [](const std::unique_ptr<Alert>& a, const Labels& l) { return a->labels < l; });
    return it != alerts_.end() && (*it)->labels == labels ? it->get() : nullptr;
  }

  TemplateInput Inputs(const Labels& element, double value, const EvalTime& at) const {
    TemplateInput in;
    in.labels = &element;
    in.value = value;
    in.params = params_;
    in.step = at.step;
    in.time_ns = at.time_ns;
    in.queries = queries_;
    return in;
  }

  Labels AlertLabels(const Labels& element, double value, const EvalTime& at) const {
    std::vector<Label> pairs;
    pairs.reserve(element.size() + rule_->labels().size() + 1);
    for (const Label& label : element) {
      if (label.name != kMetricName) pairs.push_back(label);
    }
    const TemplateInput in = Inputs(element, value, at);
    for (const auto& t : rule_->labels()) pairs.push_back({t.name, t.text.Expand(in)});
    pairs.push_back({std::string(kAlertName), rule_->alert()});
    return Labels::FromPairs(std::move(pairs));
  }

  // Which alert each present element is: the known ones are marked, the others collected in fresh_.
  Status Look(const AlertInput& input) {
    const eval::Vector& expr = *input.expr;
    Status status;
    AlertLabelBytes bytes(options_.max_label_bytes);
    size_t next = 0;  // in by_place_
    ForPresent(expr.present, [&](size_t i) {
      Alert* alert = nullptr;
      while (next < by_place_.size() && by_place_[next]->place < static_cast<int64_t>(i)) ++next;
      if (!rule_->labels_vary() && next < by_place_.size() &&
          by_place_[next]->place == static_cast<int64_t>(i)) {
        alert = by_place_[next];
      } else {
        Labels labels = AlertLabels(expr.labels(i), expr.values[i], input.at);
        alert = Find(labels);
        if (alert == nullptr) {
          bytes.Add(labels);
          fresh_.push_back({std::move(labels), static_cast<uint32_t>(i)});
          // Far too many: no need to look at the rest.
          if (fresh_.size() > options_.max_alerts || bytes.exceeded()) return false;
          return true;
        }
      }
      if (alert->seen == serial_) {
        status = DuplicateAlertLabels();
        return false;
      }
      alert->seen = serial_;
      alert->seen_at = static_cast<uint32_t>(i);
      return true;
    });
    RETURN_IF_ERROR(status);
    std::sort(fresh_.begin(), fresh_.end(),
              [](const Fresh& a, const Fresh& b) { return a.labels < b.labels; });
    for (size_t k = 1; k < fresh_.size(); ++k) {
      if (fresh_[k].labels == fresh_[k - 1].labels) return DuplicateAlertLabels();
    }
    return OkStatus();
  }

  // What becomes of each alert, and whether there are too many. Changes no state.
  Status Judge(const AlertInput& input) {
    size_t staying = fresh_.size();
    AlertLabelBytes bytes(options_.max_label_bytes);
    for (const Fresh& fresh : fresh_) bytes.Add(fresh.labels);
    for (auto& alert : alerts_) {
      Alert& a = *alert;
      a.next_can_end_since = a.next_clear_since_ns = kNever;
      a.fate = Alert::Fate::kStay;
      if (a.seen != serial_) {
        if (!a.firing) {
          a.fate = Alert::Fate::kDrop;
        } else if (CanEnd(a, input)) {
          a.next_can_end_since = a.can_end_since == kNever ? input.at.position : a.can_end_since;
          if (input.at.position - a.next_can_end_since >= rule_->keep_firing()) {
            const bool stays = !NoData(a, input) && recurrence_.Holds(a, input.at.time_ns);
            a.fate = stays ? Alert::Fate::kStay : Alert::Fate::kEnd;
          }
        }
      }
      staying += a.fate == Alert::Fate::kStay;
      if (!fresh_.empty() && a.fate == Alert::Fate::kStay) bytes.Add(a.labels);
    }
    RETURN_IF_ERROR(bytes.status());
    const size_t limit = rule_->limit() > 0 ? std::min<size_t>(rule_->limit(), options_.max_alerts)
                                            : options_.max_alerts;
    if (staying > limit) {
      return ResourceExhausted(Cat("exceeded limit of ", limit, " with ", staying, " alerts"));
    }
    return OkStatus();
  }

  // Whether an alert that expr does not have may end now.
  bool CanEnd(Alert& a, const AlertInput& input) {
    if (input.clear == nullptr) return true;
    if (a.clear.IsPresent(a.element, *input.clear)) return true;
    if (input.subject == nullptr && input.clear_subject == nullptr) return false;
    if (input.subject != nullptr && a.subject.IsPresent(a.element, *input.subject)) return false;
    return input.clear_subject == nullptr ||
           !a.clear_subject.IsPresent(a.element, *input.clear_subject);
  }

  static bool NoData(Alert& a, const AlertInput& input) {
    return input.subject != nullptr && !a.subject.IsPresent(a.element, *input.subject);
  }

  void Apply(const AlertInput& input, std::vector<Transition>* out) {
    bool moved = false;  // places of alerts changed
    size_t next_fresh = 0;
    size_t removed = 0;
    for (auto& alert : alerts_) {
      // New ones come in between, in the order of labels.
      while (next_fresh < fresh_.size() && fresh_[next_fresh].labels < alert->labels) {
        Begin(fresh_[next_fresh++], input, out);
      }
      Alert& a = *alert;
      switch (a.fate) {
        case Alert::Fate::kDrop:
          if (options_.report_pending) Report(TransitionKind::kDropped, a, input.at, out);
          ++removed;
          continue;
        case Alert::Fate::kEnd: {
          const bool no_data = NoData(a, input);
          if (!no_data) recurrence_.End(a, input.at.time_ns);
          ++a.sequence;
          Reword(a);
          Report(TransitionKind::kResolved, a, input.at, out);
          out->back().end_reason = no_data ? EndReason::kNoData : EndReason::kCleared;
          --firing_;
          ++removed;
          continue;
        }
        case Alert::Fate::kStay:
          break;
      }
      a.can_end_since = a.next_can_end_since;
      Recurrence::Stay(a, a.seen == serial_);
      if (a.seen == serial_) moved |= See(a, input);
      if (!a.firing) {
        if (input.at.position - a.active.position >= rule_->hold()) Fire(a, input.at, out);
      } else {
        Update(a, input.at, out);
      }
    }
    while (next_fresh < fresh_.size()) Begin(fresh_[next_fresh++], input, out);
    if (removed > 0) {
      std::erase_if(alerts_, [](const auto& a) { return a->fate != Alert::Fate::kStay; });
    }
    if (!begun_.empty()) {
      const auto middle = static_cast<std::ptrdiff_t>(alerts_.size());
      std::move(begun_.begin(), begun_.end(), std::back_inserter(alerts_));
      begun_.clear();
      std::inplace_merge(alerts_.begin(), alerts_.begin() + middle, alerts_.end(),
                         [](const auto& a, const auto& b) { return a->labels < b->labels; });
      moved = true;
    }
    if (moved || removed > 0) SortByPlace();
  }

  // True when the alert comes from another element than before.
  bool See(Alert& a, const AlertInput& input) {
    a.value = input.expr->values[a.seen_at];
    a.last_seen = input.at;
    a.text_stale = a.text_stale || a.rule_changed;
    a.rule_changed = false;
    if (a.place == a.seen_at) return false;
    a.place = a.seen_at;
    a.element = input.expr->labels(a.seen_at);
    a.text_stale = true;
    a.subject.Reset();
    a.clear.Reset();
    a.clear_subject.Reset();
    return true;
  }

  void Begin(Fresh& fresh, const AlertInput& input, std::vector<Transition>* out) {
    auto alert = std::make_unique<Alert>();
    Alert& a = *alert;
    a.labels = std::move(fresh.labels);
    a.element = input.expr->labels(fresh.place);
    a.value = input.expr->values[fresh.place];
    a.active = a.last_seen = input.at;
    a.place = fresh.place;
    if (rule_->hold() <= 0) {
      Fire(a, input.at, out);
    } else if (options_.report_pending) {
      Report(TransitionKind::kPending, a, input.at, out);
    }
    begun_.push_back(std::move(alert));
  }

  void Fire(Alert& a, const EvalTime& at, std::vector<Transition>* out) {
    a.firing = true;
    ++firing_;
    a.started = at;
    a.sequence = 1;
    recurrence_.Begin(a, at.time_ns);
    a.annotations = Expand(a, at);
    MarkExpanded(a);
    a.last_event_ns = at.time_ns;
    a.root_cause_changed = false;
    a.alerts_series = Labels();
    Report(TransitionKind::kFound, a, at, out);
  }

  void Update(Alert& a, const EvalTime& at, std::vector<Transition>* out) {
    const int64_t quiet = at.time_ns - a.last_event_ns;
    if (quiet < options_.min_update_ns) return;
    bool report = quiet >= options_.max_update_ns || a.root_cause_changed;
    // The text is looked at when it can have changed; a new step or time alone is no news.
    if (annotations_vary_ && report) a.text_stale = a.text_stale || a.seen == serial_;
    report |= Reword(a);
    if (!report) return;
    ++a.sequence;
    a.last_event_ns = at.time_ns;
    a.root_cause_changed = false;
    Report(TransitionKind::kUpdated, a, at, out);
  }

  Annotations Expand(const Alert& a, const EvalTime& at) const {
    Annotations out;
    out.reserve(rule_->annotations().size());
    const TemplateInput in = Inputs(a.element, a.value, at);
    for (const auto& t : rule_->annotations()) out.emplace_back(t.name, t.text.Expand(in));
    Recurrence::Reword(a, &out);
    return out;
  }
  // The annotations as of the tick that saw it last. True when they are others than those told
  // last. What queries say is known at that tick only: later the text told last stays.
  bool Reword(Alert& a) {
    const bool other_value = a.expanded_bits != std::bit_cast<uint64_t>(a.value);
    if (!a.firing || (!a.text_stale && !(annotations_vary_ && other_value))) return false;
    if (annotations_ask_ && (queries_ == nullptr || a.seen != serial_)) return false;
    Annotations now = Expand(a, a.last_seen);
    MarkExpanded(a);
    if (now == a.annotations) return false;
    a.annotations = std::move(now);
    return true;
  }
  static void MarkExpanded(Alert& a) {
    a.expanded_bits = std::bit_cast<uint64_t>(a.value);
    a.text_stale = false;
  }

  AlertRulePtr rule_;
  bool annotations_vary_ = false;
  bool annotations_ask_ = false;  // they have queries
  const AlertOptions options_;
  std::vector<std::unique_ptr<Alert>> alerts_;  // by labels
  std::vector<Alert*> by_place_;                // those whose element is in column_
  eval::LabelColumnPtr column_;                 // of expr at the last Step
  std::vector<std::pair<std::string, double>> params_;
  TemplateQueries* queries_ = nullptr;  // of the step; null outside of one
  uint64_t serial_ = 0;
  size_t firing_ = 0;
  std::optional<FoldedIssues> folded_;  // rules with `fold`
  Recurrence recurrence_;
  // Scratch of one Step.
  std::vector<Transition> happened_;
  std::vector<Fresh> fresh_;
  std::vector<std::unique_ptr<Alert>> begun_;
};

AlertState::AlertState(AlertRulePtr rule, AlertOptions options)
    : impl_(std::make_unique<Impl>(std::move(rule), options)) {}
AlertState::~AlertState() = default;
AlertState::AlertState(AlertState&&) noexcept = default;
AlertState& AlertState::operator=(AlertState&&) noexcept = default;

void AlertState::SetRule(AlertRulePtr rule) { impl_->SetRule(std::move(rule)); }
const AlertRule& AlertState::rule() const { return impl_->rule(); }
std::span<const std::pair<std::string, double>> AlertState::parameters() const {
  return impl_->parameters();
}
Status AlertState::Step(const AlertInput& input, std::vector<Transition>* out) {
  return impl_->Step(input, out);
}
void AlertState::EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out) {
  impl_->EndAll(reason, at, out);
}
bool AlertState::SetRootCause(const Labels& labels, std::string_view root_cause, bool told) {
  return impl_->SetRootCause(labels, root_cause, told);
}
size_t AlertState::firing() const { return impl_->firing(); }
size_t AlertState::pending() const { return impl_->pending(); }
const EvalTime* AlertState::FirstPending() const { return impl_->FirstPending(); }
ActiveAlert AlertState::Active(size_t i) const { return impl_->Active(i); }
void AlertState::Save(BinaryWriter& out) const { impl_->Save(out); }
void AlertState::Restore(BinaryReader& in) { impl_->Restore(in); }

}  // namespace pitwall::alert
