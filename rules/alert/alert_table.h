// Alerts of one rule in label order, with the indexes of their elements in the column of the last
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/alert/alert_record.h"
#include "rules/alert/alert_rule.h"
#include "rules/eval/vector.h"
#include "services/base/binary.h"
#include "services/model/labels.h"

namespace pitwall::alert {

// A pending or firing alert as of the last step.
struct ActiveAlert {
  const Labels* labels;
  // ALERTS{…,alertstate="pending"|"firing"}, recorded as 1. As in Prometheus, a rule label that
  // expands to an empty string appears unexpanded in both series.
  const Labels* alerts_series;
  const Labels* for_state_series;  // ALERTS_FOR_STATE{…}, recorded as active_seconds
  bool firing;
  double value;
  double active_seconds;  // start time in whole seconds, as Prometheus records it
  const EvalTime* active;
  const EvalTime* started;
  uint64_t sequence;
};

// Not thread-safe.
class AlertTable {
 public:
  using Alerts = std::vector<std::unique_ptr<Alert>>;

  // In label order, without alerts that Commit has not added yet.
  const Alerts& alerts() const { return alerts_; }
  // Alerts whose element is in the column of the last step, by index.
  std::span<Alert* const> by_place() const { return by_place_; }
  // Returns null if there is no alert with these labels.
  Alert* Find(const Labels& labels) const;
  size_t firing() const { return firing_; }
  size_t pending() const { return alerts_.size() - firing_; }
  // Returns the earliest start of a pending alert, or null. Valid until the next change.
  const EvalTime* FirstPending() const;
  // Returns alert i in label order. Requires i < number of alerts. Valid until the next change.
  ActiveAlert Active(size_t i, const AlertRule& rule) const;

  // Finds the elements of the alerts in the column of expr.
  void Bind(const eval::LabelColumnPtr& column);
  // Forces the next step to rebind.
  void Unbind() { column_ = nullptr; }
  void MarkFiring(Alert* alert);
  // Adds an alert at the next Commit.
  void Add(std::unique_ptr<Alert> alert) { added_.push_back(std::move(alert)); }
  // If `removes` is true, removes alerts whose fate is not kStay. Inserts the added alerts. `moved`
  // means that the indexes of some alerts have changed.
  void Commit(bool removes, bool moved);
  void Clear();

  void Save(BinaryWriter& out) const;
  // Fails the reader if the alerts are not in order.
  void Restore(BinaryReader& in);

 private:
  void SortByPlace();

  Alerts alerts_;  // By labels.
  std::vector<Alert*> by_place_;
  eval::LabelColumnPtr column_;
  size_t firing_ = 0;
  Alerts added_;  // Scratch space of one step.
};

}  // namespace pitwall::alert
