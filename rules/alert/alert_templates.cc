#include "rules/alert/alert_templates.h"

#include <algorithm>
#include <bit>

#include "rules/alert/issues/recurrence.h"

namespace pitwall::alert {
namespace {

constexpr std::string_view kAlertName = "alertname";

void MarkExpanded(Alert* alert) {
  alert->text.expanded_bits = std::bit_cast<uint64_t>(alert->value);
  alert->text.stale = false;
}

}  // namespace

void AlertTemplates::SetRule(AlertRulePtr rule) {
  rule_ = std::move(rule);
  const std::vector<std::pair<std::string, double>> before = std::move(parameters_);
  parameters_.clear();
  for (const auto& [name, index] : rule_->parameters()) {
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&wanted = name](const auto& p) { return p.first == wanted; });
    parameters_.emplace_back(name, known == before.end() ? 0.0 : known->second);
  }
  annotations_vary_ = annotations_ask_ = false;
  for (const AlertRule::NamedTemplate& annotation : rule_->annotations()) {
    annotations_vary_ |= annotation.text.varies();
    annotations_ask_ |= !annotation.text.queries().empty();
  }
}

void AlertTemplates::BeginStep(const AlertInput& input) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const uint32_t index = rule_->parameters()[i].second;
    parameters_[i].second = index < input.parameters.size() ? input.parameters[index] : 0;
  }
  queries_ = input.queries;
}

templates::TemplateInput AlertTemplates::InputOf(const Labels& element, double value,
                                                 const EvalTime& at) const {
  templates::TemplateInput in;
  in.labels = &element;
  in.value = value;
  in.params = parameters_;
  in.step = at.step.value();
  in.time_ns = at.time.ns();
  in.queries = queries_;
  return in;
}

Labels AlertTemplates::LabelsOf(const Labels& element, double value, const EvalTime& at) const {
  std::vector<Label> pairs;
  pairs.reserve(element.size() + rule_->labels().size() + 1);
  for (const Label& label : element) {
    if (label.name != kMetricName) pairs.push_back(label);
  }
  const templates::TemplateInput in = InputOf(element, value, at);
  for (const AlertRule::NamedTemplate& label : rule_->labels())
    pairs.push_back({label.name, label.text.Expand(in)});
  pairs.push_back({std::string(kAlertName), rule_->alert()});
  return Labels::FromPairs(std::move(pairs));
}

Annotations AlertTemplates::Expanded(const Alert& alert, const EvalTime& at) const {
  Annotations out;
  out.reserve(rule_->annotations().size());
  const templates::TemplateInput in = InputOf(alert.element, alert.value, at);
  for (const AlertRule::NamedTemplate& annotation : rule_->annotations())
    out.emplace_back(annotation.name, annotation.text.Expand(in));
  Recurrence::Reword(alert, &out);
  return out;
}

void AlertTemplates::Expand(const EvalTime& at, Alert* alert) const {
  alert->text.annotations = Expanded(*alert, at);
  MarkExpanded(alert);
}

bool AlertTemplates::Refresh(bool seen, Alert* alert) const {
  AlertText& text = alert->text;
  const bool other_value = text.expanded_bits != std::bit_cast<uint64_t>(alert->value);
  if (!alert->firing || (!text.stale && !(annotations_vary_ && other_value))) return false;
  if (annotations_ask_ && (queries_ == nullptr || !seen)) return false;
  Annotations now = Expanded(*alert, alert->last_seen);
  MarkExpanded(alert);
  if (now == text.annotations) return false;
  text.annotations = std::move(now);
  return true;
}

void AlertTemplates::Save(BinaryWriter& out) const {
  out.U64(parameters_.size());
  for (const auto& [name, value] : parameters_) out.Double(value);
}

void AlertTemplates::Restore(BinaryReader& in) {
  if (in.U64() != parameters_.size()) in.Fail();
  for (auto& [name, value] : parameters_) value = in.ok() ? in.Double() : 0;
}

}  // namespace pitwall::alert
