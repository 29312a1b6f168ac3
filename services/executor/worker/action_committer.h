// Committer of one worker's actions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/executor/actions_topic.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/executor/worker/issue_reader.h"
#include "services/executor/worker/stop_outcomes.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Commits actions together with the position in pitwall.issues, and adds them to the index. Not
// thread-safe. All pointers are borrowed.
class ActionCommitter {
 public:
  ActionCommitter(Clock* clock, Log* log, const ExecutorOptions* options, DecisionIndex* index,
                  ActionsTopic* decisions, ExecutorCounters* counters, IssueReader* reader,
                  StopOutcomes* outcomes, TopicPartition at, std::string group);

  // Takes over the partition from any other executor on this node. The other executor's commits
  // fail until that executor takes over the partition again.
  Status Fence();
  // Gives up the partition. All commits fail until Fence is called.
  void Close() { committer_.reset(); }
  bool is_open() const { return committer_ != nullptr; }

  // Commits the actions, and the position unless `next_offset` is negative. Returns Unavailable
  // after Close, and any error from Committer::Apply.
  Status Apply(const std::vector<ActionEvent>& actions, int64_t next_offset);
  // Commits the pending outcomes without a position.
  Status CommitOutcomes();

 private:
  void AddRecords(const ActionEvent& action, Commit* commit) const;
  // Updates the index, the outcomes, and the counters.
  void NoteCommit(const ActionEvent& action);
  // Reads the decisions back, so that a later start can detect that their log was lost.
  void ReadBack(const std::vector<ActionEvent>& actions);

  Clock* const clock_;
  Log* const log_;
  const ExecutorOptions& options_;
  DecisionIndex* const index_;
  ActionsTopic* const decisions_;
  ExecutorCounters* const counters_;
  IssueReader* const reader_;
  StopOutcomes* const outcomes_;
  const TopicPartition at_;
  const std::string group_;               // consumer group of this node
  std::unique_ptr<Committer> committer_;  // null if the committer was lost
};

}  // namespace pitwall::executor
