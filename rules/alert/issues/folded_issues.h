// The issues of a rule with `fold`: alerts that differ only in the folded labels are one issue,
// which starts with the first of them and ends with the last.
//
// Each alert keeps its own life cycle (`for`, keep_firing_for, clear). This class converts
// transitions of alerts into transitions of issues. One firing alert leads the issue and provides
// its value, element, and text. When the leading alert disappears from expr, the first of the other
// alerts in label order takes over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "rules/alert/alert_input.h"
#include "rules/alert/alert_record.h"
#include "rules/alert/transition.h"

namespace pitwall::alert {

// Not thread-safe.
class FoldedIssues {
 public:
  using Alerts = std::vector<std::unique_ptr<Alert>>;

  FoldedIssues(std::vector<std::string> fold, bool least_is_worst, const AlertOptions& options)
      : fold_(std::move(fold)), least_is_worst_(least_is_worst), options_(options) {}

  // Processes a step of the alerts. `happened` contains the transitions of the step. Appends the
  // transitions of issues in label order, after those for pending or dropped alerts.
  void Step(const Alerts& alerts, std::vector<Transition>& happened, const EvalTime& at,
            std::vector<Transition>* out);
  // Ends every issue.
  void EndAll(EndReason reason, const EvalTime& at, std::vector<Transition>* out);
  // Like AlertState::SetRootCause, for an issue.
  bool SetRootCause(const Labels& labels, std::string_view root_cause, bool reported);

  void Save(BinaryWriter& out) const;
  // Replaces the state.
  void Restore(BinaryReader& in);

 private:
  struct Issue {
    EvalTime active, started, last_seen;
    uint64_t sequence = 0;
    EventTime last_event;
    Labels lead;     // labels of the leading alert
    Labels element;  // element of the leading alert
    double value = 0;
    FoldSummary summary;
    uint64_t reported_count = 0;
    Annotations annotations;  // of the leading alert, as last reported
    std::string root_cause;
    bool root_cause_changed = false;

    // Scratch space of one Step.
    const Alert* leads = nullptr;
    uint64_t firing = 0;
    EndReason end_reason = EndReason::kNone;
  };

  Labels IssueLabels(const Labels& labels) const;
  FoldedElement ElementOf(const Labels& labels, double value) const;
  bool IsWorse(double value, double than) const;
  void Count(const Alert& alert, const EvalTime& at, Issue* issue) const;
  // Takes the value and text from the leading alert. Returns whether the issue has changed.
  bool Follow(Issue* issue) const;
  static void Report(TransitionKind kind, const Labels& labels, const Issue& issue,
                     const EvalTime& at, std::vector<Transition>* out);

  const std::vector<std::string> fold_;
  const bool least_is_worst_;
  const AlertOptions options_;
  std::map<Labels, Issue> issues_;
};

}  // namespace pitwall::alert
