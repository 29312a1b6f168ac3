// Index of the decisions in all partitions. It ensures that each action happens at most once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Returns the outcome record of a live decision, which is either kDone or the target's refusal. A
// decision has exactly one outcome, so both kinds of records have the same ID. A refusal that
// precedes the decision has a different ID.
ActionEvent OutcomeOf(const ActionEvent& decision, ActionEventType type);
bool IsOutcome(const ActionEvent& event);

struct BudgetLimits {
  int budget = 0;            // maximum number of live decisions per window
  int64_t window_ns = 0;     // window length in event time
  int64_t cool_down_ns = 0;  // minimum event time between live decisions on a job
  size_t max_decisions = 0;  // maximum number in memory; the oldest are evicted first
};

// Thread-safe.
class DecisionIndex {
 public:
  explicit DecisionIndex(BudgetLimits limits) : limits_(limits) {}

  // Adds a record from pitwall.actions after the record was read or committed.
  void Record(const ActionEvent& event);
  // Returns true if the issue was decided in this mode. A live decision also counts as a dry run.
  bool Decided(std::string_view issue, ActionMode mode) const;
  bool Refused(std::string_view issue, ActionMode mode) const;
  // Returns true if the index contains the outcome of the issue's live decision.
  bool Done(std::string_view issue) const;
  // Reserves a live action on the job. Returns "" on success, or the limit that blocked the action.
  std::string Reserve(std::string_view issue, std::string_view job, int64_t time_ns);
  // Cancels a reservation if the decision was not committed.
  void Release(std::string_view issue);
  // Returns the live decisions that have no recorded outcome.
  std::vector<ActionEvent> Unfinished() const;
  size_t size() const;

 private:
  struct State {
    bool dry_decided = false, dry_refused = false;
    bool live_decided = false, live_refused = false, live_done = false;
    ActionEvent decision;  // the live decision
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
  std::deque<Live> live_
      ABSL_GUARDED_BY(mutex_);  // decisions that may still count toward the limits
};

}  // namespace pitwall::executor
