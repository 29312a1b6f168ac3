// Matches a result's elements to a rule's alerts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rules/alert/alert_input.h"
#include "rules/alert/alert_record.h"
#include "rules/alert/alert_table.h"
#include "rules/alert/alert_templates.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::alert {

// Not thread-safe. In the steady state, a match does not allocate memory.
class ElementMatcher {
 public:
  // An element without an alert.
  struct Fresh {
    Labels labels;   // of its future alert
    uint32_t place;  // index in the column of expr
  };

  // Marks the alerts present in expr, and collects the elements without an alert. Stops early if
  // there are more than `options` allows. Returns InvalidArgument if two elements have the same
  // alert labels.
  Status Match(const AlertInput& input, const AlertTemplates& templates,
               const AlertOptions& options, AlertTable* alerts);

  // Elements without an alert, in the order of their labels.
  std::span<Fresh> fresh() { return fresh_; }
  // Returns whether expr contained the alert at the last match.
  bool Saw(const Alert& alert) const { return alert.step.seen == serial_; }

 private:
  std::vector<Fresh> fresh_;
  uint64_t serial_ = 0;  // Serial number of the match.
};

}  // namespace pitwall::alert
