// Alerts of one rule in the order of their labels, with the places of their elements in the column
// of the last step.
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

// An alert that is pending or firing, as of the last step.
struct ActiveAlert {
  const Labels* labels;
  // ALERTS{…,alertstate="pending"|"firing"}, to be recorded as 1. As in Prometheus, both series
  // have a label of the rule whose text is empty as it is written in the rule.
  const Labels* alerts_series;
  const Labels* for_state_series;  // ALERTS_FOR_STATE{…}, to be recorded as active_seconds
  bool firing;
  double value;
  double active_seconds;  // active since, in whole seconds as Prometheus records it
  const EvalTime* active;
  const EvalTime* started;
  uint64_t sequence;
};

// Not thread-safe.
class AlertTable {
 public:
  using Alerts = std::vector<std::unique_ptr<Alert>>;

  // In the order of labels, without those that Add has not committed.
  const Alerts& alerts() const { return alerts_; }
  // Alerts whose element is in the column of the last step, by place.
  std::span<Alert* const> by_place() const { return by_place_; }
  // Null without an alert of these labels.
  Alert* Find(const Labels& labels) const;
  size_t firing() const { return firing_; }
  size_t pending() const { return alerts_.size() - firing_; }
  // The earliest begin of a pending alert; null without any. Valid until the next change.
  const EvalTime* FirstPending() const;
  // In the order of labels. i < number of alerts. Valid until the next change.
  ActiveAlert Active(size_t i, const AlertRule& rule) const;

  // Finds the elements of the alerts in the column of expr.
  void Bind(const eval::LabelColumnPtr& column);
  // The next step binds again.
  void Unbind() { column_ = nullptr; }
  void MarkFiring(Alert* alert);
  // Adds an alert at the next Commit.
  void Add(std::unique_ptr<Alert> alert) { added_.push_back(std::move(alert)); }
  // Removes alerts whose fate is not kStay, if `removes`, and adds others. `moved`: places of
  // alerts have changed.
  void Commit(bool removes, bool moved);
  void Clear();

  void Save(BinaryWriter& out) const;
  // Fails the reader if the alerts are not in order.
  void Restore(BinaryReader& in);

 private:
  void SortByPlace();

  Alerts alerts_;  // by labels
  std::vector<Alert*> by_place_;
  eval::LabelColumnPtr column_;
  size_t firing_ = 0;
  Alerts added_;  // scratch of one step
};

}  // namespace pitwall::alert
