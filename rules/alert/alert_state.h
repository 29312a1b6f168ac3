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

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/eval/vector.h"
#include "rules/plan/program/program.h"
#include "rules/templates/template.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/eval_time.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::alert {

using templates::Template;
using templates::TemplateInput;
using templates::TemplateQueries;

// An alerting rule with its templates parsed. Immutable, shared by all jobs.
class AlertRule {
 public:
  struct NamedTemplate {
    std::string name;
    Template text;
    std::string source;  // as written
  };
  // `rule` is of `domain` and of kind kAlert. `limit` as in plan::Group (0: none). InvalidArgument
  // names file, line and template.
  static StatusOr<std::shared_ptr<const AlertRule>> Make(const plan::DomainPlan& domain,
                                                         const plan::Rule& rule, uint32_t limit);

  const std::string& name() const { return name_; }
  const std::string& alert() const { return alert_; }
  int64_t hold() const { return hold_; }
  int64_t keep_firing() const { return keep_firing_; }
  int64_t unsteady_ns() const { return unsteady_ns_; }  // recurrence.h; 0: off
  uint32_t limit() const { return limit_; }
  bool labels_vary() const { return labels_vary_; }
  const std::vector<NamedTemplate>& labels() const { return labels_; }
  const std::vector<NamedTemplate>& annotations() const { return annotations_; }
  // Labels in which the elements of one issue may differ; empty: each element is an issue.
  const std::vector<std::string>& fold() const { return fold_; }
  bool least_is_worst() const { return least_is_worst_; }
  // (name, index into DomainPlan::parameters)
  const std::vector<std::pair<std::string, uint32_t>>& parameters() const { return parameters_; }

 private:
  std::string name_, alert_;
  int64_t hold_ = 0, keep_firing_ = 0, unsteady_ns_ = 0;
  uint32_t limit_ = 0;
  bool labels_vary_ = false;
  std::vector<std::string> fold_;
  bool least_is_worst_ = false;
  std::vector<NamedTemplate> labels_, annotations_;
  std::vector<std::pair<std::string, uint32_t>> parameters_;
};
using AlertRulePtr = std::shared_ptr<const AlertRule>;

struct AlertInput {
  EvalTime at;
  const eval::Vector* expr = nullptr;
  // Rule::subject. Null: there is none, and an end is always `cleared`.
  const eval::Vector* subject = nullptr;
  const eval::Vector* clear = nullptr;  // null: no hysteresis
  const eval::Vector* clear_subject =
      nullptr;                         // the left side in `clear`; null: `subject` stands for it
  std::span<const double> parameters;  // one per DomainPlan::parameters
  // Answers the queries of templates at this tick; ids are those of nodes. Null: they fail.
  TemplateQueries* queries = nullptr;
};

enum class TransitionKind {
  kPending,  // began, waits for `for`
  kDropped,  // was pending and went
  kFound,
  kUpdated,
  kResolved,
};
std::string_view TransitionKindName(TransitionKind kind);

// At most so many elements of a folded issue are named.
inline constexpr size_t kMaxFoldedNames = 10;

struct FoldedElement {
  Labels labels;  // the folded ones
  double value = 0;
};

// Of an issue of a rule with `fold`.
struct FoldSummary {
  std::vector<FoldedElement> named;  // those that came first, with their first values
  FoldedElement worst;               // since the issue began
  uint64_t count = 0;                // the most at one time; 0: the rule does not fold
};

struct Transition {
  TransitionKind kind = TransitionKind::kPending;
  EvalTime at;     // when it happened
  Labels labels;   // of the alert
  Labels element;  // of the element of expr that it comes from
  double value = 0;
  EvalTime active;                          // when it became pending; its attempt is the issue's
  EvalTime started;                         // when it fired; all zero before
  EvalTime last_seen;                       // the last tick at which expr had it
  EndReason end_reason = EndReason::kNone;  // kResolved only
  uint64_t sequence = 0;                    // 1 for kFound; 0 for kPending and kDropped
  std::vector<std::pair<std::string, std::string>>
      annotations;  // from kFound on, in the order of the rule
  std::string root_cause;
  FoldSummary folded;
  // The annotation of that name, "" when there is none.
  std::string_view Annotation(std::string_view name) const;
};

// An alert that is pending or firing, as of the last Step.
struct ActiveAlert {
  const Labels* labels;
  // ALERTS{…,alertstate="pending"|"firing"}, to be recorded as 1. As in Prometheus a label of the
  // rule whose text came out empty is in both series as it is written in the rule.
  const Labels* alerts_series;
  const Labels* for_state_series;  // ALERTS_FOR_STATE{…}, to be recorded as active_seconds
  bool firing;
  double value;
  double active_seconds;  // active since, in whole seconds as Prometheus records it
  const EvalTime* active;
  const EvalTime* started;
  uint64_t sequence;
};

struct AlertOptions {
  // Alerts of one rule on one job; more is an error and the state stays as it was.
  size_t max_alerts = 10'000;
  size_t max_label_bytes = size_t{64} << 20;  // of their labels (LabelBytes); likewise
  // Whether kPending and kDropped are told: no event comes of them.
  bool report_pending = true;
  int64_t min_update_ns = 60'000'000'000;   // kUpdated for a change: not more often
  int64_t max_update_ns = 300'000'000'000;  // kUpdated without a change: so often
};

// Not thread-safe. In the steady state (no alert begins, ends or reports) Step allocates nothing,
// unless a template of a label reads the value.
class AlertState {
 public:
  explicit AlertState(AlertRulePtr rule, AlertOptions options = {});
  ~AlertState();
  AlertState(AlertState&&) noexcept;
  AlertState& operator=(AlertState&&) noexcept;

  // After a reload that left the rule's fingerprint alone: new annotations, same state.
  void SetRule(AlertRulePtr rule);
  const AlertRule& rule() const;
  // (name, value) of the rule's parameters at the last Step: by these its alerts were judged. Valid
  // until the next Step, SetRule or Restore.
  std::span<const std::pair<std::string, double>> parameters() const;

  // One evaluation. Appends transitions in the order of alert labels; of a rule with `fold` those
  // of its issues (folded_issues.h). On an error (InvalidArgument:
  // duplicate label sets; ResourceExhausted: limits) nothing has changed, as if the tick had not
  // been.
  Status Step(const AlertInput& input, std::vector<Transition>* out);

  // All firing alerts end, pending ones are dropped.
  void EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out);

  // Shown from the next event on; a change is a reason for kUpdated, unless the event of the last
  // Step was completed with it (`told`). False when there is no such alert.
  bool SetRootCause(const Labels& labels, std::string_view root_cause, bool told = false);

  size_t firing() const;
  size_t pending() const;
  // The earliest moment at which one that is pending became so; null: none is. Valid as Active's.
  const EvalTime* FirstPending() const;
  bool IsEmpty() const { return firing() + pending() == 0; }
  // In the order of labels. i < firing() + pending(). Pointers are valid until the next Step,
  // EndAll or Restore.
  ActiveAlert Active(size_t i) const;

  // Bit-exact: a restored state yields the transitions that this one would.
  void Save(BinaryWriter& out) const;
  // Replaces the state. Damage fails the reader and leaves the state empty.
  void Restore(BinaryReader& in);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::alert
