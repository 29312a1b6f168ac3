#include "services/offline/ruletest/firing_annotations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "rules/templates/template.h"

namespace pitwall::offline {

void FiringAnnotations::Update(const alert::AlertInput& input, const alert::AlertState& state) {
  const alert::AlertRule& alert = state.rule();
  Rule& rule = rules_[alert.name()];
  rule.alert = alert.alert();
  std::map<Labels, Said> said;
  for (size_t i = 0; i < state.firing() + state.pending(); ++i) {
    const alert::ActiveAlert active = state.Active(i);
    Said& now = said[*active.labels];
    now.firing = active.firing;
    const auto before = rule.said.find(*active.labels);
    if (before != rule.said.end()) now.annotations = std::move(before->second.annotations);
  }
  rule.said = std::move(said);
  if (rule.said.empty()) return;

  std::vector<std::pair<std::string, double>> parameters;
  for (const auto& [name, index] : alert.parameters())
    parameters.emplace_back(name, input.parameters[index]);
  const eval::Vector& vector = *input.expr;
  for (size_t i = 0; i < vector.size(); ++i) {
    if (!vector.present[i]) continue;
    const Labels element = vector.labels(i);
    templates::TemplateInput text{.labels = &element, .value = vector.values[i]};
    text.params = parameters;
    text.step = input.at.step.value();
    text.time_ns = input.at.time.ns();
    text.queries = input.queries;
    // The key includes the labels that the alert state machine adds.
    std::vector<Label> pairs;
    for (const Label& label : element) {
      if (label.name != kMetricName) pairs.push_back(label);
    }
    for (const auto& label : alert.labels()) pairs.push_back({label.name, label.text.Expand(text)});
    pairs.push_back({"alertname", alert.alert()});
    const auto now = rule.said.find(Labels::FromPairs(std::move(pairs)));
    if (now == rule.said.end()) continue;
    Annotations& annotations = now->second.annotations;
    annotations.clear();
    for (const auto& annotation : alert.annotations())
      annotations.emplace_back(annotation.name, annotation.text.Expand(text));
    std::sort(annotations.begin(), annotations.end());
  }
}

std::vector<FiringAlert> FiringAnnotations::Firing(std::string_view alert) const {
  std::vector<FiringAlert> firing;
  for (const auto& [name, rule] : rules_) {
    if (rule.alert != alert) continue;
    for (const auto& [labels, said] : rule.said) {
      if (said.firing) firing.push_back({rule.alert, labels, said.annotations});
    }
  }
  return firing;
}

}  // namespace pitwall::offline
