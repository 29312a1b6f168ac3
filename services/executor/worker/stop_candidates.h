// Stop candidates in one partition.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/executor/actions_topic.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/executor/targets/stop_target.h"
#include "services/executor/worker/stop_decision.h"
#include "services/model/issues/issue.h"

namespace pitwall::executor {

// Open issues and stop requests that have a policy. Not thread-safe. All pointers are borrowed.
class StopCandidates {
 public:
  StopCandidates(const StopTargets* targets, const ExecutorOptions* options, DecisionIndex* index,
                 ActionsTopic* decisions, ExecutorCounters* counters)
      : targets_(targets),
        options_(*options),
        index_(index),
        decisions_(decisions),
        counters_(counters) {}

  // Adds an open issue or a request to the candidates if a policy applies to it.
  void Consider(IssueEvent event);
  void Remove(std::string_view issue);
  void Clear() { issues_.clear(); }
  size_t size() const { return issues_.size(); }

  // Returns the decisions on all candidates, in order of event time. The index keeps a reservation
  // for each live decision. Candidates are not removed. Returns an error if the decisions of other
  // executors cannot be read.
  StatusOr<std::vector<StopDecision>> Decide();

 private:
  // Returns the decision on one candidate, or nullopt if the candidate was already decided or
  // refused.
  std::optional<StopDecision> DecideOn(const IssueEvent& event);

  const StopTargets* const targets_;
  const ExecutorOptions& options_;
  DecisionIndex* const index_;
  ActionsTopic* const decisions_;
  ExecutorCounters* const counters_;
  std::map<std::string, IssueEvent, std::less<>> issues_;  // by issue ID
};

}  // namespace pitwall::executor
