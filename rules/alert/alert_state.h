// The alert life cycle of one rule on one job, as in Prometheus (rules/alerting.go), with
// additional hysteresis, end reasons, and updates.
//
//   element appears ─► pending ─(for)─► firing: kFound ─► kUpdated* ─► element gone
//   (keep_firing_for, clear) ─► kResolved
//
// An alert is identified by its full label set: the element's labels without the name, then the
// rule's labels (templates expanded), then alertname. A pending alert whose element is absent at a
// tick is dropped. With `clear`, a firing alert ends at the first tick at which it is missing from
// expr and present in clear, or at which neither expression has input for it. keep_firing_for
// counts from the first tick of an unbroken run of ticks at which the alert could end. Without
// `clear`, these are the ticks at which it is missing from expr, as in Prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/alert/alert_input.h"
#include "rules/alert/alert_record.h"
#include "rules/alert/alert_rule.h"
#include "rules/alert/alert_table.h"
#include "rules/alert/alert_templates.h"
#include "rules/alert/element_matcher.h"
#include "rules/alert/issues/recurrence.h"
#include "rules/alert/transition.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/eval_time.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"

namespace pitwall::alert {

class FoldedIssues;

// Not thread-safe. In the steady state (no alert starts, ends, or is reported), Step does not
// allocate memory, unless a label template reads the value.
class AlertState {
 public:
  explicit AlertState(AlertRulePtr rule, AlertOptions options = {});
  ~AlertState();
  AlertState(AlertState&&) noexcept;
  AlertState& operator=(AlertState&&) noexcept;

  // Installs another version of the rule with the same fingerprint. Annotations may differ; the
  // state is kept.
  void SetRule(AlertRulePtr rule);
  const AlertRule& rule() const { return templates_.rule(); }
  // Parameters of the rule at the last Step, as (name, value) pairs. Valid until the next Step,
  // SetRule, or Restore.
  std::span<const std::pair<std::string, double>> parameters() const {
    return templates_.parameters();
  }

  // Evaluates one tick. Appends transitions in the order of the alerts' labels (for a rule with
  // `fold`, transitions of issues; see folded_issues.h). An error leaves the state unchanged:
  // InvalidArgument for duplicate label sets, ResourceExhausted for limits.
  Status Step(const AlertInput& input, std::vector<Transition>* out);
  // Ends all firing alerts and drops pending ones.
  void EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out);
  // Sets the root cause of an issue for its next event. A change causes kUpdated unless it is
  // already in the event of the last Step (`reported`). Returns false if there is no such alert.
  bool SetRootCause(const Labels& labels, std::string_view root_cause, bool reported = false);

  size_t firing() const { return alerts_.firing(); }
  size_t pending() const { return alerts_.pending(); }
  bool IsEmpty() const { return firing() + pending() == 0; }
  // Returns the earliest start of a pending alert, or null. Valid until the next Step, EndAll, or
  // Restore.
  const EvalTime* FirstPending() const { return alerts_.FirstPending(); }
  // Returns active alert i in label order. Requires i < firing() + pending(). Valid until the next
  // Step, EndAll, or Restore.
  ActiveAlert Active(size_t i) const { return alerts_.Active(i, rule()); }

  // Saves the state. An instance that restores it returns bit-identical transitions.
  void Save(BinaryWriter& out) const;
  // Replaces the state. Damaged data fails the reader and leaves the state empty.
  void Restore(BinaryReader& in);

 private:
  // Decides the fate of each alert. Returns an error if there are too many alerts. Does not change
  // the state.
  Status Judge(const AlertInput& input);
  void Apply(const AlertInput& input, std::vector<Transition>* out);
  void Begin(ElementMatcher::Fresh& fresh, const AlertInput& input, std::vector<Transition>* out);
  void Fire(Alert& alert, const EvalTime& at, std::vector<Transition>* out);
  void Update(Alert& alert, const EvalTime& at, std::vector<Transition>* out);
  // Reports that a firing alert has ended or a pending one was dropped.
  void End(Alert& alert, const AlertInput& input, std::vector<Transition>* out);

  AlertOptions options_;
  AlertTemplates templates_;
  AlertTable alerts_;
  ElementMatcher elements_;
  Recurrence recurrence_;
  std::unique_ptr<FoldedIssues> folded_;  // Set for rules with `fold`.
  std::vector<Transition> happened_;      // Scratch space.
};

}  // namespace pitwall::alert
