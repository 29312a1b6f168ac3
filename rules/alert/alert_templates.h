// Labels and annotations of one rule's alerts, expanded with the parameters of the last step.
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

  // Installs another version of the rule. Parameters keep their values by name until the next step,
  // because alerts may end before then.
  void SetRule(AlertRulePtr rule);
  const AlertRule& rule() const { return *rule_; }
  // Parameters of the rule at the last step, as (name, value) pairs.
  std::span<const std::pair<std::string, double>> parameters() const { return parameters_; }

  // Takes the parameters and queries of a step. Queries are valid until EndStep is called.
  void BeginStep(const AlertInput& input);
  void EndStep() { queries_ = nullptr; }

  // Returns the labels of an element's alert.
  Labels LabelsOf(const Labels& element, double value, const EvalTime& at) const;
  // Expands the annotations of an alert that starts firing.
  void Expand(const EvalTime& at, Alert* alert) const;
  // Re-expands the annotations of a firing alert, as of the last tick at which expr contained it.
  // `seen` means that expr contains it at this tick. A rule with queries in its annotations is
  // refreshed only at such ticks. Returns whether the text has changed.
  bool Refresh(bool seen, Alert* alert) const;
  // Returns whether annotations may change even if neither the rule nor the element changes.
  bool annotations_vary() const { return annotations_vary_; }

  // The parameters are part of the saved state, because alerts may end before the next step.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  templates::TemplateInput InputOf(const Labels& element, double value, const EvalTime& at) const;
  Annotations Expanded(const Alert& alert, const EvalTime& at) const;

  AlertRulePtr rule_;
  bool annotations_vary_ = false;
  bool annotations_ask_ = false;  // Some annotation has queries.
  std::vector<std::pair<std::string, double>> parameters_;
  TemplateQueries* queries_ = nullptr;  // Null outside a step.
};

}  // namespace pitwall::alert
