// Texts of the alerts of one rule: labels and annotations, expanded with the parameters of the last
// step.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rules/alert/alert_input.h"
#include "rules/alert/alert_record.h"
#include "rules/alert/alert_rule.h"
#include "services/base/binary.h"
#include "services/model/eval_time.h"
#include "services/model/labels.h"

namespace pitwall::alert {

// Not thread-safe.
class AlertTemplates {
 public:
  explicit AlertTemplates(AlertRulePtr rule) { SetRule(std::move(rule)); }

  // Another version of the rule. Parameters keep their values by name until the next step: alerts
  // may end before it.
  void SetRule(AlertRulePtr rule);
  const AlertRule& rule() const { return *rule_; }
  // (name, value) of the rule's parameters at the last step.
  std::span<const std::pair<std::string, double>> parameters() const { return parameters_; }

  // Takes parameters and queries of a step. Queries are valid until EndStep.
  void BeginStep(const AlertInput& input);
  void EndStep() { queries_ = nullptr; }

  // Returns the labels of the alert that an element makes.
  Labels LabelsOf(const Labels& element, double value, const EvalTime& at) const;
  // Expands the annotations of an alert that begins to fire.
  void Expand(const EvalTime& at, Alert* alert) const;
  // Expands the annotations of a firing alert again, as of the tick that saw it last. `seen`: by
  // this step; queries have answers at that tick only. Returns whether the text has changed.
  bool Refresh(bool seen, Alert* alert) const;
  // Annotations may change although neither rule nor element does.
  bool annotations_vary() const { return annotations_vary_; }

  // Parameters are part of the state: alerts may end before the next step.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  templates::TemplateInput InputOf(const Labels& element, double value, const EvalTime& at) const;
  Annotations Expanded(const Alert& alert, const EvalTime& at) const;

  AlertRulePtr rule_;
  bool annotations_vary_ = false;
  bool annotations_ask_ = false;  // they have queries
  std::vector<std::pair<std::string, double>> parameters_;
  TemplateQueries* queries_ = nullptr;  // null outside of a step
};

}  // namespace pitwall::alert
