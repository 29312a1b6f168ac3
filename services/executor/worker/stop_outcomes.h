// Outcomes of one worker's live decisions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/executor/decision_index.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Outcomes waiting to be committed. Not thread-safe.
class StopOutcomes {
 public:
  // Adds the outcome of a decision. `stopped` is true if the action ended the job.
  void Finish(const ActionEvent& decision, std::string effect, bool stopped = false);
  // Adds the target's refusal of the stop.
  void Refuse(const ActionEvent& decision, std::string_view reason);

  const std::vector<ActionEvent>& pending() const { return pending_; }
  // Returns true if the action is an uncommitted outcome that ended its job.
  bool EndsJob(const ActionEvent& action) const { return stopped_.contains(action.id); }
  // Handles the commit of any of the worker's actions.
  void NoteCommit(const ActionEvent& action) { stopped_.erase(action.id); }
  // Drops all pending outcomes after their commit.
  void Clear() { pending_.clear(); }
  // Drops the outcomes of decisions whose outcome is already in the index.
  void DropRecorded(const DecisionIndex& index);

 private:
  std::vector<ActionEvent> pending_;
  std::set<std::string> stopped_;  // IDs of the outcomes that ended a job
};

}  // namespace pitwall::executor
