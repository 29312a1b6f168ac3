// Alerting rule with parsed templates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rules/plan/program/program.h"
#include "rules/templates/template.h"
#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall::alert {

using templates::Template;

// Immutable; shared by all jobs.
class AlertRule {
 public:
  struct NamedTemplate {
    std::string name;
    Template text;
    std::string source;  // as written in the rule
  };
  // `rule` belongs to `domain` and has kind kAlert. `limit` is the limit in plan::Group (0 means no
  // limit). InvalidArgument errors contain the file, line, and template.
  static StatusOr<std::shared_ptr<const AlertRule>> Make(const plan::DomainPlan& domain,
                                                         const plan::Rule& rule, uint32_t limit);

  const std::string& name() const { return name_; }
  const std::string& alert() const { return alert_; }
  Duration hold() const { return hold_; }
  Duration keep_firing() const { return keep_firing_; }
  Duration unsteady() const { return unsteady_; }  // recurrence.h; 0 if disabled
  uint32_t limit() const { return limit_; }
  bool labels_vary() const { return labels_vary_; }
  const std::vector<NamedTemplate>& labels() const { return labels_; }
  const std::vector<NamedTemplate>& annotations() const { return annotations_; }
  // Labels in which the elements of one issue may differ. If empty, each element is a separate
  // issue.
  const std::vector<std::string>& fold() const { return fold_; }
  bool least_is_worst() const { return least_is_worst_; }
  // Pairs of (name, index in DomainPlan::parameters).
  const std::vector<std::pair<std::string, uint32_t>>& parameters() const { return parameters_; }

 private:
  std::string name_, alert_;
  Duration hold_, keep_firing_, unsteady_;
  uint32_t limit_ = 0;
  bool labels_vary_ = false;
  std::vector<std::string> fold_;
  bool least_is_worst_ = false;
  std::vector<NamedTemplate> labels_, annotations_;
  std::vector<std::pair<std::string, uint32_t>> parameters_;
};
using AlertRulePtr = std::shared_ptr<const AlertRule>;

}  // namespace pitwall::alert
