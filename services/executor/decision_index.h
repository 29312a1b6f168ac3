// Decisions of all partitions, so that an action happens at most once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// The record of what came of a live decision: done, or refused by who would have had to obey. One
// decision has one, so both have one id, unlike a guard's refusal before it.
ActionEvent OutcomeOf(const ActionEvent& decision, ActionEventType type);
bool IsOutcome(const ActionEvent& event);

struct BudgetLimits {
  int budget = 0;            // live decisions per window
  int64_t window_ns = 0;     // event time
  int64_t cool_down_ns = 0;  // event time, per job
  size_t max_decisions = 0;  // remembered; the oldest go first
};

// Thread-safe.
class DecisionIndex {
 public:
  explicit DecisionIndex(BudgetLimits limits) : limits_(limits) {}

  // A record of pitwall.actions, read back or just committed.
  void Record(const ActionEvent& event);
  // Whether the issue was decided in this mode; a live decision also stands for a dry one.
  bool Decided(std::string_view issue, ActionMode mode) const;
  bool Refused(std::string_view issue, ActionMode mode) const;
  // Whether the outcome of a live decision is on record.
  bool Done(std::string_view issue) const;
  // Empty when a live action on the job may be decided now, and then it is counted; else which
  // guard says no.
  std::string Reserve(std::string_view issue, std::string_view job, int64_t time_ns);
  // Takes a reservation back: the decision could not be committed.
  void Release(std::string_view issue);
  // Live decisions whose outcome no record tells.
  std::vector<ActionEvent> Unfinished() const;
  size_t size() const;

 private:
  struct State {
    bool dry_decided = false, dry_refused = false;
    bool live_decided = false, live_refused = false, live_done = false;
    ActionEvent decision;  // the live one
  };
  struct Live {
    std::string issue, job;
    int64_t time_ns = 0;
  };
  State& Touch(const std::string& issue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const std::string& issue, const std::string& job, int64_t time_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const BudgetLimits limits_;
  mutable Mutex mutex_;
  StringMap<State> issues_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> order_ ABSL_GUARDED_BY(mutex_);
  std::deque<Live> live_ ABSL_GUARDED_BY(mutex_);  // those that may still count
};

}  // namespace pitwall::executor
