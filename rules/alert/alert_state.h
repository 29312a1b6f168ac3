// The alert life cycle of one rule on one job: Prometheus' (rules/alerting.go), plus hysteresis,
// reasons and updates.
//
//   element appears ─► pending ─(for)─► firing: kFound ─► kUpdated* ─► element gone
//   (keep_firing_for, clear) ─► kResolved
//
// An alert is its full label set: the element's labels without the name, then the rule's labels
// (templates expanded), then alertname. A pending alert whose element is absent at a tick is
// dropped. With `clear`, a firing alert ends at the first tick where expr misses it and clear has
// it, or where both lack their input; keep_firing_for counts from the first tick of an unbroken run
// of ticks at which it could end (without `clear`: at which expr misses it, as in Prometheus).
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

// Not thread-safe. In the steady state (no alert begins, ends, or reports) Step allocates nothing,
// unless a template of a label reads the value.
class AlertState {
 public:
  explicit AlertState(AlertRulePtr rule, AlertOptions options = {});
  ~AlertState();
  AlertState(AlertState&&) noexcept;
  AlertState& operator=(AlertState&&) noexcept;

  // Another version of the rule with the same fingerprint: other annotations, same state.
  void SetRule(AlertRulePtr rule);
  const AlertRule& rule() const { return templates_.rule(); }
  // (name, value) of the rule's parameters at the last Step, which evaluated its alerts. Valid
  // until the next Step, SetRule, or Restore.
  std::span<const std::pair<std::string, double>> parameters() const {
    return templates_.parameters();
  }

  // Evaluates one tick. Appends transitions in the order of alert labels; of a rule with `fold`
  // those of its issues (folded_issues.h). An error changes nothing: InvalidArgument (duplicate
  // label sets), ResourceExhausted (limits).
  Status Step(const AlertInput& input, std::vector<Transition>* out);
  // Ends all firing alerts, and drops pending ones.
  void EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out);
  // Sets the root cause of an issue. It is in the next event; a change is a reason for kUpdated,
  // unless the event of the last Step has it (`told`). Returns false without such an alert.
  bool SetRootCause(const Labels& labels, std::string_view root_cause, bool told = false);

  size_t firing() const { return alerts_.firing(); }
  size_t pending() const { return alerts_.pending(); }
  bool IsEmpty() const { return firing() + pending() == 0; }
  // The earliest begin of a pending alert; null without any. Valid as Active's.
  const EvalTime* FirstPending() const { return alerts_.FirstPending(); }
  // In the order of labels. i < firing() + pending(). Valid until the next Step, EndAll, or
  // Restore.
  ActiveAlert Active(size_t i) const { return alerts_.Active(i, rule()); }

  // Bit-exact: a restored state yields the transitions that this one would.
  void Save(BinaryWriter& out) const;
  // Replaces the state. Damage fails the reader and leaves the state empty.
  void Restore(BinaryReader& in);

 private:
  // Decides the fate of each alert. An error: there are too many. Changes no state.
  Status Judge(const AlertInput& input);
  void Apply(const AlertInput& input, std::vector<Transition>* out);
  void Begin(ElementMatcher::Fresh& fresh, const AlertInput& input, std::vector<Transition>* out);
  void Fire(Alert& alert, const EvalTime& at, std::vector<Transition>* out);
  void Update(Alert& alert, const EvalTime& at, std::vector<Transition>* out);
  // Reports the end of an alert, or that it is dropped.
  void End(Alert& alert, const AlertInput& input, std::vector<Transition>* out);

  AlertOptions options_;
  AlertTemplates templates_;
  AlertTable alerts_;
  ElementMatcher elements_;
  Recurrence recurrence_;
  std::unique_ptr<FoldedIssues> folded_;  // of rules with `fold`
  std::vector<Transition> happened_;      // scratch
};

}  // namespace pitwall::alert
